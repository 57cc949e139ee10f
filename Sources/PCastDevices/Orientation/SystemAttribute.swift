import Glibc

/// Small files of the kernel and of udev.
enum SystemAttribute {
    /// The largest size, that of udev's longest property files. The kernel's files are at most a page long.
    private static let limit = 65_536

    /// Returns the text of a file without surrounding white space; nil if it cannot be read or is not UTF-8.
    static func read(_ path: String) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4_096)
        while bytes.count < limit {
            let count = Glibc.read(file, &part, part.count)
            // A sensor that wakes up answers late, and the call may be interrupted.
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return nil }
            guard count > 0 else { break }
            bytes += part[..<count]
        }
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        let isBlank: (Character) -> Bool = { $0.isWhitespace }
        guard let first = text.firstIndex(where: { !isBlank($0) }) else { return "" }
        return String(text[first...text.lastIndex { !isBlank($0) }!])
    }

    static func number(_ path: String) -> Double? {
        guard let value = read(path).flatMap({ Double($0) }), value.isFinite else { return nil }
        return value
    }

    /// Returns the names in a folder in no particular order; empty if it does not exist.
    static func names(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }
}
