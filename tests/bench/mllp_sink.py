#!/usr/bin/python3
"""Takes HL7 messages over MLLP and acknowledges each: mllp_sink.py FILE.

Says its port on the first line of its output.  FILE gets one byte per message.
"""
import asyncio
import sys

END = b"\x1c\r"


async def talk(reader, writer, count):
    try:
        while True:
            body = (await reader.readuntil(END))[1:-len(END)]
            control = body.split(b"|", 10)[9]
            count.write(b".")
            writer.write(b"\x0bMSH|^~\\&|EHR|C|LAB|H|2026||ACK|1|P|2.5\rMSA|AA|" + control + b"\r" + END)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def serve(path):
    with open(path, "ab", buffering=0) as count:
        server = await asyncio.start_server(lambda r, w: talk(r, w, count), "127.0.0.1", 0)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()


asyncio.run(serve(sys.argv[1]))
