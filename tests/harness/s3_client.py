"""A small S3 client, which shares no code with the product: what the tests look with."""
import datetime
import hashlib
import hmac
import http.client
import os
import time
import urllib.parse
import xml.etree.ElementTree

MAKE_SECONDS = 60


class S3Error(Exception):
    def __init__(self, status, code):
        super().__init__(f"{status} {code}")
        self.status, self.code = status, code


class S3Client:
    """Path style, Signature Version 4, one connection per request."""

    def __init__(self, host, port, access_key, secret_key, region="us-east-1"):
        self.host, self.port, self.region = host, port, region
        self.access_key, self.secret_key = access_key, secret_key

    def _sign(self, method, path, query, headers, digest, now):
        day, stamp = now.strftime("%Y%m%d"), now.strftime("%Y%m%dT%H%M%SZ")
        scope = f"{day}/{self.region}/s3/aws4_request"
        names = ";".join(sorted(headers))
        fields = "".join(f"{k}:{headers[k].strip()}\n" for k in sorted(headers))
        canonical = "\n".join([method, path, query, fields, names, digest])
        text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        key = ("AWS4" + self.secret_key).encode()
        for part in (day, self.region, "s3", "aws4_request", text):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        return f"AWS4-HMAC-SHA256 Credential={self.access_key}/{scope}, SignedHeaders={names}, Signature={key.hex()}"

    def request(self, method, bucket, key="", query=None, body=b"", headers=None, digest=None):
        """(status, headers in lower case, body); S3Error for 3xx and above.  An open file as body needs its digest."""
        path = "/" + bucket + ("/" + urllib.parse.quote(key, safe="/-_.~") if key else "")
        text = "&".join(f"{urllib.parse.quote(k, safe='-_.~')}={urllib.parse.quote(v, safe='-_.~')}"
                        for k, v in sorted((query or {}).items()))
        now = datetime.datetime.utcnow()
        digest = digest or hashlib.sha256(body).hexdigest()
        fields = {k.lower(): v for k, v in (headers or {}).items()}
        fields.update({"host": f"{self.host}:{self.port}", "x-amz-content-sha256": digest,
                       "x-amz-date": now.strftime("%Y%m%dT%H%M%SZ")})
        fields["authorization"] = self._sign(method, path, text, dict(fields), digest, now)
        wire = http.client.HTTPConnection(self.host, self.port, timeout=60)
        try:
            wire.request(method, path + ("?" + text if text else ""), body=body, headers=fields)
            got = wire.getresponse()
            data = got.read()
        finally:
            wire.close()
        if got.status >= 300:
            root = xml.etree.ElementTree.fromstring(data) if data.strip().startswith(b"<") else None
            raise S3Error(got.status, root.findtext("Code") if root is not None else None)
        return got.status, {k.lower(): v for k, v in got.getheaders()}, data

    def make_bucket(self, bucket):
        """A service that has just started may not have all of itself: it is asked again."""
        until, tries = time.monotonic() + MAKE_SECONDS, 0
        while True:
            try:
                self.request("PUT", bucket)
                return
            except S3Error as e:
                if e.status == 409 and tries > 0:  # an earlier try had its effect
                    return
                if e.status < 500 or time.monotonic() > until:
                    raise
            tries += 1
            time.sleep(0.2)

    def put(self, bucket, key, body, **headers):
        self.request("PUT", bucket, key, body=body, headers=headers)

    def put_file(self, bucket, key, path, sha256):
        """One request, which never has all of it in memory."""
        with open(path, "rb") as file:
            self.request("PUT", bucket, key, body=file, headers={"Content-Length": str(os.path.getsize(path))},
                         digest=sha256)

    def get(self, bucket, key):
        return self.request("GET", bucket, key)[2]

    def head(self, bucket, key):
        """Its headers; None when there is none."""
        try:
            return self.request("HEAD", bucket, key)[1]
        except S3Error as e:
            if e.status != 404:
                raise
            return None

    def delete(self, bucket, key):
        self.request("DELETE", bucket, key)

    def _list(self, bucket, item, query, *marks):
        found = []
        more = {}
        while True:
            root = xml.etree.ElementTree.fromstring(
                self.request("GET", bucket, query={**query, **more, "encoding-type": "url"})[2])
            for e in root.iter():
                e.tag = e.tag.rpartition("}")[2]
            found += [{c.tag: c.text for c in e} for e in root.iter(item)]
            if root.findtext("IsTruncated") != "true":
                break
            more = {mine: root.findtext(theirs) or "" for mine, theirs in marks}
        for f in found:
            f["Key"] = urllib.parse.unquote_plus(f["Key"])
        return found

    def keys(self, bucket):
        return sorted(f["Key"] for f in self._list(bucket, "Contents", {"list-type": "2"},
                                                   ("continuation-token", "NextContinuationToken")))

    def uploads(self, bucket):
        """The keys of uploads in parts that are not complete."""
        return sorted(f["Key"] for f in self._list(bucket, "Upload", {"uploads": ""}, ("key-marker", "NextKeyMarker"),
                                                   ("upload-id-marker", "NextUploadIdMarker")))
