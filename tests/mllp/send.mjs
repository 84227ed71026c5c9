// node-hl7-client sends messages one by one and prints what each was answered, as JSON.
//
//     node send.mjs PORT COUNT [CA CERT KEY]
import fs from 'node:fs';
import { Client, Message } from 'node-hl7-client';

const [port, count, ca, cert, key] = process.argv.slice(2);
const tls = ca === undefined ? undefined
  : { ca: fs.readFileSync(ca), cert: fs.readFileSync(cert), key: fs.readFileSync(key), servername: 'localhost' };
const client = new Client({ host: '127.0.0.1', ...(tls && { tls }) });
const answers = [];
let answered;

const connection = client.createConnection({ port: Number(port) }, async (response) => {
  const message = response.getMessage();
  answers.push([message.get('MSA.1').toString(), message.get('MSA.2').toString(), message.get('MSH.10').toString()]);
  answered();
});
connection.on('client.error', (error) => {
  console.error(error);
  process.exit(1);
});
for (let n = 0; n < Number(count); n++) {
  const message = new Message({
    messageHeader: { msh_9_1: 'ADT', msh_9_2: 'A01', msh_10: `node-${n}`, msh_11_1: 'P' },
  });
  message.set('MSH.3', 'LAB');
  message.set('MSH.5', 'EHR');
  const answer = new Promise((resolve) => { answered = resolve; });
  await connection.sendMessage(message);
  await answer;
}
await connection.close();
console.log(JSON.stringify(answers));
process.exit(0);
