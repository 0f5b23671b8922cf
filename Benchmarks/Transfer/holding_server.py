#!/usr/bin/env python3
"""Answers every request with the head and the first 1,000 bytes of a file, and no more. With CERTIFICATE KEY over TLS."""
import asyncio, ssl, sys


async def answer(reader, writer):
    try:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 100000\r\nETag: "a"\r\n\r\n' + b"x" * 1000)
        await writer.drain()
        await reader.read(1)
    except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
        pass
    writer.close()


async def main():
    context = None
    if len(sys.argv) > 2:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])
    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context, backlog=2000)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)

asyncio.run(main())
