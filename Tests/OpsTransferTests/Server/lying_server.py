#!/usr/bin/env python3
"""A server on loopback for tests: it sends every kind of wrong response that a client must handle.

lying_server.py DIRECTORY [CERTIFICATE KEY] prints its port and runs until its standard input ends.

An address is /SCENARIO/ID?size=N&... A scenario is a method of Lies. Each test uses its own IDs. The server appends the path
and headers of every request to DIRECTORY/ID.jsonl, so that a test can check the requests.
"""
import email.utils, json, os, socket, socketserver, ssl, struct, sys, threading, time, urllib.parse
from http.server import BaseHTTPRequestHandler

BLOCK = 65_521
blocks, counts, crowds, lock = {}, {}, {}, threading.Lock()


def content(version, size):
    """Returns the bytes of one version of a file. The Swift tests have the same function."""
    if version not in blocks:
        state, block = version, bytearray(BLOCK)
        for i in range(BLOCK):
            state = (state * 1103515245 + 12345) & 0x7FFFFFFF
            block[i] = state >> 16 & 255
        blocks[version] = bytes(block)
    block = blocks[version]
    return (block * (size // BLOCK + 1))[:size]


class Lies(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60

    def log_message(self, *_):
        pass

    def do_GET(self):
        address = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(address.query))
        _, scenario, self.id = (address.path.split("/") + ["", ""])[:3]
        with lock:
            self.count = counts[self.id] = counts.get(self.id, 0) + 1
            with open(os.path.join(directory, self.id + ".jsonl"), "a") as log:
                log.write(json.dumps({"path": self.path, **{k.lower(): v for k, v in self.headers.items()}}) + "\n")
        self.size = int(query.get("size", 100_000))
        self.query = query
        self.body = content(int(query.get("version", 1)), self.size)
        try:
            getattr(self, scenario.replace("-", "_"))()
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            self.close_connection = True

    # Parts of responses

    def head(self, status, **fields):
        self.send_response_only(status)
        for name, value in fields.items():
            for one in value if isinstance(value, list) else [value]:
                self.send_header(name.replace("_", "-"), str(one))
        self.end_headers()

    def asked(self):
        """Returns the first byte of the requested range, or None if the request has no range."""
        text = self.headers.get("Range")
        return int(text.removeprefix("bytes=").rstrip("-")) if text else None

    def whole(self, body=None, **fields):
        body = self.body if body is None else body
        self.head(200, **{"Content_Length": len(body), "ETag": '"v1"', **fields})
        self.wfile.write(body)

    def part(self, start, body=None, **fields):
        body = self.body if body is None else body
        total = len(body)
        piece = body[start:]
        fields = {"Content_Length": len(piece), "ETag": '"v1"',
                  "Content_Range": f"bytes {start}-{total - 1}/{total}", **fields}
        self.head(206, **{name: value for name, value in fields.items() if value is not None})
        self.wfile.write(piece)

    def honest(self, etag='"v1"', body=None, **fields):
        """Sends a correct response according to RFC 9110."""
        body = self.body if body is None else body
        start = self.asked()
        if start is None or self.headers.get("If-Range") not in (None, etag):
            return self.whole(body, ETag=etag, **fields)
        if start >= len(body):
            return self.head(416, Content_Range=f"bytes */{len(body)}", Content_Length=0)
        self.part(start, body, ETag=etag, **fields)

    def first_half(self, **fields):
        """Sends all headers and half of the body, and closes the connection."""
        self.head(200, **{"Content_Length": self.size, "ETag": '"v1"', **fields})
        self.wfile.write(self.body[: self.size // 2])
        self.close_connection = True

    def reset(self):
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def wait_for_go(self):
        while not os.path.exists(os.path.join(directory, self.id + ".go")): time.sleep(0.005)

    def here(self, path, scheme=None, host=None):
        scheme = scheme or ("https" if is_tls else "http")
        return f"{scheme}://{host or self.headers['Host']}{path}"

    # Scenarios

    def file(self):
        self.honest()

    def truncates_once(self):
        if self.count == 1: return self.first_half()
        self.honest()

    def truncates(self):
        self.first_half()

    def resets_once(self):
        if self.count > 1: return self.honest()
        self.head(200, Content_Length=self.size, ETag='"v1"')
        self.wfile.write(self.body[: self.size // 2])
        self.reset()

    def changes(self):
        """Sends half of one version first, then the whole of another version with another tag."""
        if self.count == 1: return self.first_half()
        self.honest('"v2"', content(2, self.size))

    def changes_in_part(self):
        """Sends the second version as a partial response, although If-Range does not match."""
        if self.count == 1: return self.first_half()
        body = content(2, self.size)
        if self.asked() is None: return self.whole(body, ETag='"v2"')
        self.part(self.asked(), body, ETag='"v2"')

    def changes_silently(self):
        """Sends the second version with the tag of the first."""
        if self.count == 1: return self.first_half()
        self.honest('"v1"', content(2, self.size))

    def no_tag_in_part(self):
        if self.count == 1: return self.first_half()
        if self.asked() is None: return self.whole()
        self.part(self.asked(), ETag=None)

    def weak(self):
        if self.count == 1: return self.first_half(ETag='W/"v1"')
        self.whole(ETag='W/"v1"')

    def dated(self):
        """Sends no tag, and a Last-Modified that is `age` seconds before Date."""
        age = int(self.query["age"])
        now = 1_700_000_000
        fields = {"Date": email.utils.formatdate(now, usegmt=True),
                  "Last_Modified": email.utils.formatdate(now - age, usegmt=True)}
        if self.count == 1:
            self.head(200, Content_Length=self.size, **fields)
            self.wfile.write(self.body[: self.size // 2])
            self.close_connection = True
        elif self.asked() is None or self.headers.get("If-Range") != fields["Last_Modified"]:
            self.head(200, Content_Length=self.size, **fields)
            self.wfile.write(self.body)
        else:
            self.part(self.asked(), ETag=None, **fields)

    def ignores_range(self):
        if self.count == 1: return self.first_half()
        self.whole()

    def lies(self, offset=0, ending=0, total=0, unit="bytes"):
        if self.count == 1: return self.first_half()
        start = self.asked()
        if start is None: return self.whole()
        self.part(start, Content_Range=f"{unit} {start + offset}-{self.size - 1 + ending}/{self.size + total}")

    def lies_about_start(self): self.lies(offset=1)
    def lies_about_end(self): self.lies(ending=-1)
    def lies_about_total(self): self.lies(total=1)
    def lies_about_unit(self): self.lies(unit="lines")
    def lies_with_control_characters(self): self.lies(unit="\x1b[31mlines\xc2\x9b")

    def lies_always(self):
        """Sends a partial response with an invalid range to every request after the first."""
        if self.count == 1: return self.first_half()
        self.part(self.asked() or 0, Content_Range="lines 1-2/3")

    def short_part(self):
        """Sends a shorter range than requested, correctly labelled."""
        if self.count == 1: return self.first_half()
        start = self.asked()
        if start is None: return self.whole()
        piece = self.body[start : start + 10]
        self.head(206, Content_Length=len(piece), ETag='"v1"',
                  Content_Range=f"bytes {start}-{start + 9}/{self.size}")
        self.wfile.write(piece)

    def multipart(self):
        if self.count == 1: return self.first_half()
        if self.asked() is None: return self.whole()
        self.head(206, Content_Length=5, ETag='"v1"', Content_Type="multipart/byteranges; boundary=x")
        self.wfile.write(b"--x--")

    def unasked_part(self):
        self.part(0)

    def refuses_range(self):
        if self.count == 1: return self.first_half()
        if self.asked() is None: return self.whole()
        self.head(416, Content_Range=f"bytes */{self.size}", Content_Length=0)

    def stalls(self):
        self.head(200, Content_Length=self.size, ETag='"v1"')
        self.wfile.write(self.body[:1000])
        self.wfile.flush()
        self.connection.recv(1)

    def stalls_before_head(self):
        self.connection.recv(1)

    def circle(self):
        self.head(302, Location=self.path, Content_Length=0)

    def redirects(self):
        """Redirects `redirects` times, then sends the file."""
        left = int(self.query.get("redirects", 1))
        if left == 0: return self.honest()
        self.head(302, Location=f"/redirects/{self.id}?size={self.size}&redirects={left - 1}", Content_Length=0)

    def leads_away(self):
        """Redirects to the address `to`, which may have another host, port or scheme."""
        self.head(302, Location=self.query["to"], Content_Length=0)

    def signed(self):
        """Redirects to an address whose query differs each time."""
        self.head(302, Location=f"/truncates-once/{self.id}-file?size={self.size}&signature={self.count}", Content_Length=0)

    def moves(self):
        """Redirects to another file with the same tag each time."""
        where = "truncates" if self.count == 1 else "file"
        self.head(302, Location=f"/{where}/{self.id}-{self.count}?size={self.size}&version={self.count}", Content_Length=0)

    def leads_nowhere(self):
        self.head(302, Content_Length=0)

    def leads_to_file(self):
        self.head(302, Location="file:///etc/passwd", Content_Length=0)

    def leads_to_password(self):
        self.head(302, Location=self.here("/file/x").replace("://", "://user:secret@"), Content_Length=0)

    def status(self):
        fields = {"Retry_After": self.query["retry"]} if "retry" in self.query else {}
        self.head(int(self.query["status"]), Content_Length=4, **fields)
        self.wfile.write(b"sad\n")

    def busy(self):
        """Sends Retry-After `times` times, then the file."""
        if self.count > int(self.query.get("times", 1)): return self.honest()
        self.head(int(self.query.get("status", 503)), Content_Length=0, Retry_After=self.query["retry"])

    def waits(self):
        """Sends half of the file, waits until a file ID.go exists, and sends the rest or, with `cut`, resets the connection."""
        if self.count > 1: return self.honest()
        self.head(200, Content_Length=self.size, ETag='"v1"')
        self.wfile.write(self.body[: self.size // 2])
        self.wfile.flush()
        self.wait_for_go()
        if "cut" in self.query: return self.reset()
        self.wfile.write(self.body[self.size // 2 :])

    def cuts_after_head(self):
        """Sends half of the file first. The next response ends after its headers, which wait for a file ID.go."""
        if self.count == 1: return self.first_half()
        if self.count > 2: return self.honest()
        self.wait_for_go()
        start = self.asked()
        self.head(206, Content_Length=self.size - start, ETag='"v1"', Content_Range=f"bytes {start}-{self.size - 1}/{self.size}")
        self.close_connection = True

    def crowd(self):
        """Sends the file after a short pause. The file ID.most contains the greatest number of simultaneous requests."""
        with lock:
            crowds[self.id] = crowds.get(self.id, 0) + 1
            path = os.path.join(directory, self.id + ".most")
            most = int(open(path).read()) if os.path.exists(path) else 0
            with open(path, "w") as file: file.write(str(max(most, crowds[self.id])))
        time.sleep(0.02)
        with lock: crowds[self.id] -= 1
        self.honest()

    def gzip(self):
        self.whole(Content_Encoding="gzip")

    def transfer_gzip(self):
        self.head(200, Transfer_Encoding="gzip, chunked", ETag='"v1"')
        self.chunks(self.body)

    def two_lengths(self):
        self.whole(Content_Length=[self.size, self.size // 2])

    def negative_length(self):
        self.whole(Content_Length="-5")

    def overflowing_length(self):
        self.whole(Content_Length="99999999999999999999999")

    def no_body(self):
        """Sends the headers without the body, as for a HEAD request."""
        self.head(200, Content_Length=self.size, ETag='"v1"')
        self.close_connection = True

    def nothing(self):
        """Sends neither a length nor a body."""
        self.head(200, Connection="close")
        self.close_connection = True

    def endless_chunks(self):
        self.head(200, Transfer_Encoding="chunked", ETag='"v1"')
        while True: self.chunks(self.body, b"")

    def long_header(self):
        self.whole(X_Long="x" * 200_000)

    def flood(self):
        """Sends interim responses without end."""
        while True: self.wfile.write(b"HTTP/1.1 103 Early Hints\r\nX-Early: hint\r\n\r\n" * 100)

    def endless(self):
        """Sends the file, and then more bytes without end."""
        self.whole()
        while True: self.wfile.write(b"more" * 1000)

    def chunks(self, body, ending=b"0\r\n\r\n"):
        for start in range(0, len(body), 10_000):
            piece = body[start : start + 10_000]
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        self.wfile.write(ending)

    def chunked(self):
        self.head(200, Transfer_Encoding="chunked", ETag='"v1"')
        self.chunks(self.body)

    def chunked_with_trailers(self):
        self.head(200, Transfer_Encoding="chunked", ETag='"v1"', Trailer="ETag")
        self.chunks(self.body, b'0\r\nETag: "v9"\r\nContent-Length: 5\r\n\r\n')

    def endless_trailers(self):
        self.head(200, Transfer_Encoding="chunked", ETag='"v1"')
        self.chunks(self.body, b"0\r\n")
        while True: self.wfile.write(b"X-More: trailer\r\n" * 1000)

    def chunked_without_end(self):
        """Omits the last chunk of the first response, then sends correct responses."""
        if self.count > 1: return self.honest()
        self.head(200, Transfer_Encoding="chunked", ETag='"v1"')
        self.chunks(self.body[: self.size // 2], b"")
        self.close_connection = True

    def until_close(self):
        """Sends the body without a length or chunks, and marks its end by closing the connection."""
        self.head(200, ETag='"v1"', Connection="close")
        self.wfile.write(self.body)
        self.close_connection = True

    def huge_headers(self):
        self.send_response_only(200)
        for number in range(2000): self.send_header(f"X-{number}", "x" * 100)
        self.end_headers()

    def interim(self):
        self.wfile.write(b'HTTP/1.1 103 Early Hints\r\nETag: "other"\r\nContent-Length: 3\r\n\r\n')
        self.honest()

    def old(self):
        """Sends the body without a status line or headers, as HTTP/0.9 does."""
        self.wfile.write(self.body)
        self.close_connection = True

    def garbage(self):
        self.wfile.write(b"SSH-2.0-OpenSSH_9.2\r\n" * 5)
        self.close_connection = True

    def without_status(self, line):
        """Sends half of the file first, then a body under an unusable status line, then correct responses."""
        if self.count == 1: return self.first_half()
        if self.count > 2: return self.honest()
        self.wfile.write(b"HTTP/1.1 %b\r\nContent-Length: 100\r\n\r\n" % line + b"x" * 100)
        self.close_connection = True

    def no_status(self): self.without_status(b"502Bad Gateway")
    def switches_protocols(self): self.without_status(b"101 Switching Protocols")

    def slow(self):
        """Sends the file in pieces with pauses, so that a client can be killed in between.

        With `witness`, the file ID.open gets a line for each response: two times between which the client was certainly reading.
        """
        start = self.asked() or 0
        if self.headers.get("If-Range") not in (None, '"v1"'): start = 0
        fields = {"Content_Range": f"bytes {start}-{self.size - 1}/{self.size}"} if self.asked() is not None else {}
        began = certain = last = time.time()
        try:
            self.head(206 if fields else 200, Content_Length=self.size - start, ETag='"v1"', **fields)
            step = int(self.query.get("step", 65_536))
            for place in range(start, self.size, step):
                self.wfile.write(self.body[place : place + step])
                # The client was still reading at the previous write: otherwise this write would have failed with a reset.
                certain, last = last, time.time()
                time.sleep(float(self.query.get("pause", 2)) / 1000)
        finally:
            if "witness" in self.query:
                with lock, open(os.path.join(directory, self.id + ".open"), "a") as log: log.write(f"{began} {certain}\n")


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 1024

    def handle_error(self, *_):
        pass


if __name__ == "__main__":
    directory = sys.argv[1]
    is_tls = len(sys.argv) > 3
    server = Server(("127.0.0.1", 0), Lies)
    if is_tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[2], sys.argv[3])
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()
