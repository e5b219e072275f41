"""Certificates as an organization has them: an authority that signs those of
servers and clients. Made by openssl."""

import subprocess

EC = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


def openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


class Pair:
    """A certificate and its key."""

    def __init__(self, folder, name):
        self.path, self.key = folder / f"{name}.pem", folder / f"{name}.key"


class Authority(Pair):
    def __init__(self, folder, name="authority"):
        super().__init__(folder, name)
        self.folder, self.name = folder, name
        words = ["-days", 30, "-subj", f"/CN={name}", "-keyout", self.key]
        openssl("req", "-x509", *EC, *words, "-out", self.path)

    def sign(self, name, *valid, host="IP:127.0.0.1"):
        """A pair for that host; valid: as openssl x509 has it, 30 days if left out."""
        pair = Pair(self.folder, f"{self.name}-{name}")
        asked, more = pair.path.with_suffix(".csr"), pair.path.with_suffix(".ext")
        more.write_text(f"subjectAltName={host}\n")
        openssl("req", *EC, "-subj", f"/CN={name}", "-keyout", pair.key, "-out", asked)
        words = ["-CA", self.path, "-CAkey", self.key, "-CAcreateserial"]
        words += valid or ["-days", 30]
        openssl("x509", "-req", "-in", asked, *words, "-extfile", more, "-out", pair.path)
        return pair
