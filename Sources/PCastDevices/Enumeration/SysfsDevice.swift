import Glibc

/// A device in sysfs: a folder with attributes, below its parent device.
struct SysfsDevice: Hashable, Sendable {
    /// The path without symbolic links: `/sys/devices/…`.
    let path: String
    private let root: String

    /// Finds a device by its class, such as `video4linux` or `audio`, and its name, such as `video0`. Returns nil if
    /// there is none. `root` is the mount point of sysfs.
    init?(subsystem: String, name: String, root: String = "/sys") {
        guard let root = Self.resolved(root), let path = Self.resolved("\(root)/class/\(subsystem)/\(name)") else {
            return nil
        }
        self.init(path: path, root: root)
    }

    private init(path: String, root: String) {
        self.path = path
        self.root = root
    }

    /// Returns the sorted names of a class's devices.
    static func names(subsystem: String, root: String = "/sys") -> [String] {
        guard let folder = opendir("\(root)/class/\(subsystem)") else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = FixedText.string(entry.pointee.d_name)
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }

    var name: String { String(path.split(separator: "/").last ?? "") }

    /// The kernel's name of its bus or class, such as `usb`; nil if it has none.
    var subsystem: String? {
        Self.resolved(path + "/subsystem").map { String($0.split(separator: "/").last ?? "") }
    }

    /// The device type, such as `usb_interface`; nil if it has none.
    var type: String? {
        attribute("uevent")?.split(separator: "\n").first { $0.hasPrefix("DEVTYPE=") }.map { String($0.dropFirst(8)) }
    }

    /// The parent device; nil for the topmost one. Folders without `uevent` are not devices.
    var parent: SysfsDevice? {
        var path = Substring(path)
        while let slash = path.lastIndex(of: "/") {
            path = path[..<slash]
            guard path.utf8.count > root.utf8.count else { return nil }
            if access("\(path)/uevent", F_OK) == 0 { return SysfsDevice(path: String(path), root: root) }
        }
        return nil
    }

    /// Returns the nearest ancestor of this kind; nil if there is none.
    func ancestor(subsystem: String, type: String? = nil) -> SysfsDevice? {
        var device = parent
        while let candidate = device {
            if candidate.subsystem == subsystem, type == nil || candidate.type == type { return candidate }
            device = candidate.parent
        }
        return nil
    }

    /// Returns the text of an attribute without trailing newlines; nil if there is none.
    func attribute(_ name: String) -> String? {
        let descriptor = open("\(path)/\(name)", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        // Attributes are at most a page long.
        return withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 1) { buffer in
            let count = read(descriptor, buffer.baseAddress!, buffer.count)
            guard count >= 0 else { return nil }
            let bytes = buffer.prefix(count)
            let end = bytes.lastIndex { $0 != 0x0A }.map { $0 + 1 } ?? 0
            return String(decoding: bytes[..<end], as: UTF8.self)
        }
    }

    private static func resolved(_ path: String) -> String? {
        guard let text = realpath(path, nil) else { return nil }
        defer { free(text) }
        return String(cString: text)
    }
}
