#!/usr/bin/env python3
"""Packs files into an uncompressed cpio archive, which the kernel unpacks as the virtual machine's file system.

    initrd.py [--root FOLDER] ARCHIVE [FILE|FOLDER]...

Files under --root get the same path under /. All other files keep their path on this machine.
The shared libraries of every program (as ldd reports them) are included. Archives can be concatenated in one file.
"""

import argparse
import os
import stat
import subprocess
import sys

MERGED = [name for name in ("/bin", "/sbin", "/lib", "/lib64") if os.path.islink(name)]
"""The directories that are links into /usr if it is merged. They remain links."""


class Archive:
    """An archive of the format `newc` (Documentation/driver-api/early-userspace/buffer-format.rst of the kernel)."""

    def __init__(self, file):
        self.file = file
        self.names = set()

    def record(self, name, mode, data=b"", device=(0, 0)):
        """Adds an entry. Further entries of the same name are ignored."""
        name = name.strip("/")
        if not name or name in self.names:
            return
        self.folders(os.path.dirname(name))
        self.names.add(name)
        self.write(name, mode, data, device)

    def write(self, name, mode, data, device=(0, 0)):
        encoded = name.encode() + b"\0"
        fields = [len(self.names), mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(encoded), 0]
        header = b"070701" + b"".join(b"%08X" % field for field in fields) + encoded
        self.file.write(header + bytes(-len(header) % 4) + data + bytes(-len(data) % 4))

    def folders(self, path):
        if path:
            self.record(path, stat.S_IFDIR | 0o755)

    def finish(self):
        self.write("TRAILER!!!", 0, b"")
        self.file.write(bytes(-self.file.tell() % 512))

    def merge_usr(self):
        for link in MERGED:
            self.record(link, stat.S_IFLNK | 0o777, os.readlink(link).encode())

    def file_at(self, path, name):
        """Adds the file, folder or link `path` as `name`, with the target of a link."""
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            target = os.readlink(path)
            self.record(name, status.st_mode, target.encode())
        elif stat.S_ISREG(status.st_mode):
            with open(path, "rb") as file:
                self.record(name, stat.S_IFREG | stat.S_IMODE(status.st_mode), file.read())
        elif stat.S_ISDIR(status.st_mode):
            self.record(name, stat.S_IFDIR | 0o755)

    def tree(self, folder, name):
        """Adds all files of a folder under `name`. Links remain links."""
        for base, folders, files in os.walk(folder):
            place = os.path.normpath(os.path.join(name, os.path.relpath(base, folder)))
            for entry in ["", *folders, *files]:
                self.file_at(os.path.join(base, entry) if entry else base, os.path.join(place, entry))

    def own_place(self, path):
        """Adds a file at its path on this machine, and the target of a link."""
        path = os.path.normpath(path)
        for link in MERGED:
            if path.startswith(link + "/"):
                path = "/" + os.readlink(link).strip("/") + path[len(link):]
        if path.strip("/") in self.names:
            return
        self.file_at(path, path)
        if os.path.islink(path):
            self.own_place(os.path.join(os.path.dirname(path), os.readlink(path)))


def files_under(folder):
    return [os.path.join(base, file) for base, _, files in os.walk(folder) for file in files]


def libraries(path):
    """Returns the shared libraries of a program, or none if it is not dynamically linked."""
    told = subprocess.run(["ldd", path], capture_output=True, text=True)
    found = []
    for line in told.stdout.splitlines():
        words = line.split()
        if "not found" in line:
            sys.exit(f"initrd.py: {path} needs {words[0]}, which is not found")
        found += [word for word in words[:3] if word.startswith("/")]
    return found


def is_program(path):
    """Returns whether a file is an ELF executable or shared library (ET_EXEC, ET_DYN), which a driver is not."""
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        start = file.read(18)
    return start[:4] == b"\x7fELF" and start[16] in (2, 3)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive")
    parser.add_argument("--root")
    parser.add_argument("paths", nargs="*")
    options = parser.parse_args()
    partial = options.archive + ".partial"
    with open(partial, "wb") as file:
        archive = Archive(file)
        archive.merge_usr()
        files = []
        if options.root:
            archive.tree(options.root, "/")
            for name, device in (("dev/console", (5, 1)), ("dev/null", (1, 3))):
                archive.record(name, stat.S_IFCHR | 0o600, device=device)
            files += files_under(options.root)
        for path in map(os.path.abspath, options.paths):
            if os.path.isdir(path):
                archive.tree(path, path)
                files += files_under(path)
            else:
                archive.own_place(path)
                files.append(os.path.realpath(path))
        for library in sorted({library for path in files if is_program(path) for library in libraries(path)}):
            archive.own_place(library)
        archive.finish()
    os.rename(partial, options.archive)


main()
