"""Writes an image in the OCI layout: layer files in, a folder of blobs out.

    layout.py FOLDER --version V --revision R --base NAME LAYER.tar...

All times are SOURCE_DATE_EPOCH, so that equal layers make equal images.
"""

import argparse
import datetime
import gzip
import hashlib
import json
import os
import shutil
import sys

USER = "65532:65532"
MEDIA = "application/vnd.oci.image"


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--version", required=True)
    parser.add_argument("--revision", required=True)
    parser.add_argument("--base", required=True)
    parser.add_argument("layers", nargs="+")
    return parser.parse_args()


class Layout:
    """A folder of blobs, each named by the SHA-256 of its bytes."""

    def __init__(self, folder):
        self.folder = folder
        self.blobs = os.path.join(folder, "blobs", "sha256")
        os.makedirs(self.blobs)
        self.write("oci-layout", {"imageLayoutVersion": "1.0.0"})

    def write(self, name, value):
        with open(os.path.join(self.folder, name), "w") as file:
            json.dump(value, file, sort_keys=True)

    def keep(self, path, kind):
        """Takes a file; what a manifest says of it."""
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        size = os.path.getsize(path)
        os.rename(path, os.path.join(self.blobs, digest))
        return {"mediaType": f"{MEDIA}.{kind}", "digest": f"sha256:{digest}", "size": size}

    def add_json(self, value, kind):
        self.write("new", value)
        return self.keep(os.path.join(self.folder, "new"), kind)

    def add_layer(self, tar):
        """What a manifest says of it, and the digest of its bytes unpacked."""
        path = os.path.join(self.folder, "new")
        with open(tar, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            file.seek(0)
            with open(path, "wb") as out:
                with gzip.GzipFile("", "wb", 6, out, mtime=0) as packed:
                    shutil.copyfileobj(file, packed, 1 << 20)
        return self.keep(path, "layer.v1.tar+gzip"), f"sha256:{digest}"


def main():
    asked = parse()
    at = int(os.environ["SOURCE_DATE_EPOCH"])
    created = datetime.datetime.fromtimestamp(at, datetime.timezone.utc)
    created = created.strftime("%Y-%m-%dT%H:%M:%SZ")
    layout = Layout(asked.folder)
    layers = [layout.add_layer(layer) for layer in asked.layers]
    labels = {
        "title": "quern",
        "description": "Job processor for LLM conversations that run code",
        "licenses": "Apache-2.0",
        "version": asked.version,
        "revision": asked.revision,
        "created": created,
        "base.name": asked.base,
    }
    config = {
        "architecture": "amd64",
        "os": "linux",
        "created": created,
        "config": {
            "User": USER,
            "Env": ["PATH=/usr/local/bin:/usr/bin:/bin"],
            "Cmd": ["quern", "--help"],
            "WorkingDir": "/",
            "StopSignal": "SIGTERM",
            "Labels": {f"org.opencontainers.image.{k}": v for k, v in labels.items()},
        },
        "rootfs": {"type": "layers", "diff_ids": [digest for _, digest in layers]},
        "history": [
            {"created": created, "created_by": f"deploy/image: {os.path.basename(layer)}"}
            for layer in asked.layers
        ],
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{MEDIA}.manifest.v1+json",
        "config": layout.add_json(config, "config.v1+json"),
        "layers": [layer for layer, _ in layers],
    }
    described = layout.add_json(manifest, "manifest.v1+json")
    described["annotations"] = {"org.opencontainers.image.ref.name": "quern"}
    layout.write("index.json", {"schemaVersion": 2, "manifests": [described]})
    packed = sum(layer["size"] for layer, _ in layers)
    bare = sum(map(os.path.getsize, asked.layers))
    print(f"{asked.folder}: {bare >> 20} MiB, {packed >> 20} MiB packed, {described['digest']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
