"""An S3 service that is none: it lists what it is told to, counts what it is asked, and breaks rules that others keep.

    with FakeS3({"a.txt": b"bytes"}) as s3:
        s3.refuse["DELETE"] = (403, "AccessDenied")      # such requests are answered so
        s3.listed["a.txt"] = "another-etag"              # what a list says of its ETag
        s3.asked                                         # [(method, path, headers)], in order
    FakeS3(many=100_000)                                 # so many objects that are made up while they are listed
"""
import hashlib
import http.server
import threading
import urllib.parse

TIME_LISTED, TIME_FIELD = "2026-11-15T02:52:10.000Z", "Sun, 15 Nov 2026 02:52:10 GMT"


class FakeS3:
    def __init__(self, objects=None, many=0, page=1000):
        self.objects, self.many, self.page = dict(objects or {}), many, page
        self.refuse, self.listed, self.asked = {}, {}, []
        self.same_token = False
        self.connections = 0
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 60

            def setup(self):
                fake.connections += 1
                super().setup()

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass

            def answer(self, status, body=b"", **fields):
                self.send_response(status)
                for name, value in fields.items():
                    self.send_header(name.replace("_", "-"), value)
                if "Content_Length" not in fields:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def run(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                fake.asked.append((self.command, self.path, dict(self.headers)))
                if self.command in fake.refuse:
                    status, code = fake.refuse[self.command]
                    return self.answer(status, f"<Error><Code>{code}</Code></Error>".encode())
                where = urllib.parse.urlsplit(self.path)
                key = urllib.parse.unquote(where.path).removeprefix("/bucket").removeprefix("/")
                if not key:
                    return self.answer(200, fake.list(dict(urllib.parse.parse_qsl(where.query))))
                return self.about(key)

            def about(self, key):
                if key not in fake.objects:
                    return self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
                body = fake.objects[key]
                if self.command == "DELETE":
                    del fake.objects[key]
                    return self.answer(204)
                return self.answer(200, body, ETag=f'"{fake.etag(key)}"', Last_Modified=TIME_FIELD,
                                   Content_Type="text/plain", Content_Length=str(len(body)))

            do_GET = do_HEAD = do_PUT = do_DELETE = run

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def etag(self, key):
        return hashlib.md5(self.objects[key]).hexdigest()

    def list(self, query):
        own = sorted(self.objects)
        total = len(own) + self.many
        begin = int(query.get("continuation-token", "0").partition("/")[0])
        end = min(begin + self.page, total)
        token = "0/" if self.same_token else f"{end}/="
        rows = "".join(self.row(own[n] if n < len(own) else None, n) for n in range(begin, end))
        return (f"<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>{'true' if end < total else 'false'}"
                f"</IsTruncated><NextContinuationToken>{token}</NextContinuationToken>{rows}"
                "</ListBucketResult>").encode()

    def row(self, key, number):
        name = urllib.parse.quote(key) if key else f"many%20{number:07}"
        etag = self.listed.get(key) or (self.etag(key) if key else "x")
        return (f"<Contents><Key>{name}</Key><LastModified>{TIME_LISTED}</LastModified><ETag>&quot;{etag}&quot;</ETag>"
                f"<Size>{len(self.objects.get(key, 'x'))}</Size></Contents>")

    def count(self, method):
        return sum(a[0] == method for a in self.asked)
