// node-hl7-server acknowledges messages and prints the control id of each as a line, until it is killed.
//
//     node serve.mjs PORT [CA CERT KEY]
import fs from 'node:fs';
import { Server } from 'node-hl7-server';

const [port, ca, cert, key] = process.argv.slice(2);
const tls = ca === undefined ? undefined
  : { ca: fs.readFileSync(ca), cert: fs.readFileSync(cert), key: fs.readFileSync(key), requestCert: true };
const server = new Server({ bindAddress: '127.0.0.1', ...(tls && { tls }) });
const inbound = server.createInbound({ port: Number(port) }, async (request, response) => {
  console.log(request.getMessage().get('MSH.10').toString());
  await response.sendResponse('AA');
});
inbound.on('listen', () => console.log('listening'));
for (const event of ['error', 'data.error']) {
  inbound.on(event, (error) => {
    console.error(error);
    process.exit(1);
  });
}
