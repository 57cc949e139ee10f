/// What udev's rules and hardware database say of a sensor: lines `E:NAME=VALUE` of a file of its database.
struct UdevProperties {
    private var values: [String: String] = [:]

    /// - Parameters:
    ///   - name: the kernel's, `iio:device0`.
    ///   - folder: the device's in sysfs; its `dev` names the file of what has a node in /dev.
    init(of name: String, at folder: String, in database: String) {
        let node = SystemAttribute.read("\(folder)/dev").flatMap { SystemAttribute.read("\(database)/c\($0)") }
        guard let text = node ?? SystemAttribute.read("\(database)/+iio:\(name)") else { return }
        for line in text.split(separator: "\n") where line.hasPrefix("E:") {
            let parts = line.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { values[String(parts[0])] = String(parts[1]) }
        }
    }

    subscript(name: String) -> String? { values[name] }
}
