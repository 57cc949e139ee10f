/// The properties of a sensor from udev's rules and hardware database: lines `E:NAME=VALUE` in its database.
struct UdevProperties {
    private var values: [String: String] = [:]

    /// Reads the properties of the kernel's device `name`, such as `iio:device0`, whose sysfs folder is `folder`. Its
    /// attribute `dev` names the database file of a device with a node in `/dev`.
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
