"""Wheels made by hand: a zip file with a name that says what is in it."""

import base64
import hashlib
import io
import os
import stat
import subprocess
import sysconfig
import tarfile
import zipfile

PURE = "py3-none-any"


def wheel(folder, name, files, version="1.0", needs=(), tag=PURE, info=None):
    """Writes one; gives its path. files: {path: text or bytes}."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-{version}-{tag}.whl"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += "".join(f"Requires-Dist: {need}\n" for need in needs)
    kind = f"Wheel-Version: 1.0\nGenerator: by hand\nTag: {tag}\n"
    info = info or f"{name}-{version}.dist-info"
    files = {**files, f"{info}/METADATA": metadata, f"{info}/WHEEL": kind}
    record = [f"{info}/RECORD,,"]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, content in files.items():
            entry = file if isinstance(file, zipfile.ZipInfo) else zipfile.ZipInfo(file)
            entry.compress_type = zipfile.ZIP_DEFLATED
            data = content.encode() if isinstance(content, str) else content
            archive.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
            digest = digest.decode().rstrip("=")
            record.append(f"{entry.filename},sha256={digest},{len(data)}")
        archive.writestr(f"{info}/RECORD", "\n".join(record) + "\n")
    os.chmod(path, 0o644)
    return path


def link(name):
    """The name of an entry that is a symbolic link."""
    entry = zipfile.ZipInfo(name)
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry


def source(folder, name, setup, version="1.0"):
    """A package that is not built: whoever installs it runs its setup.py."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-{version}.tar.gz"
    files = {
        "setup.py": setup,
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
    }
    with tarfile.open(path, "w:gz") as archive:
        for file, text in files.items():
            entry = tarfile.TarInfo(f"{name}-{version}/{file}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    os.chmod(path, 0o644)
    return path


NATIVE = """
#include <Python.h>
static PyObject *answer(PyObject *self, PyObject *none)
{
    return PyLong_FromLong(42);
}
static PyMethodDef methods[] = { { "answer", answer, METH_NOARGS, 0 }, { 0 } };
static struct PyModuleDef module = { PyModuleDef_HEAD_INIT, "NAME", 0, -1, methods };
PyMODINIT_FUNC PyInit_NAME(void) { return PyModule_Create(&module); }
"""


def native(folder, name, scratch):
    """A wheel with a compiled module, for the distribution's Python."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    include = sysconfig.get_path("include")
    code = scratch / f"{name}.c"
    built = scratch / f"{name}{suffix}"
    code.write_text(NATIVE.replace("NAME", name))
    subprocess.run(
        ["cc", "-shared", "-fPIC", f"-I{include}", "-o", built, code], check=True
    )
    version = sysconfig.get_config_var("py_version_nodot")
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    tag = f"cp{version}-cp{version}-{platform}"
    return wheel(folder, name, {built.name: built.read_bytes()}, tag=tag)
