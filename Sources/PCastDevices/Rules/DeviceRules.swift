import Glibc
import PCastYAML

/// Properties that hardware does not report and an administrator states. Examples are the direction and mounting of a
/// USB camera, the polar pattern of a microphone, the name, and whether the device is offered.
///
/// `configs/devices.yaml` is an example and describes the format. Rules apply only to hardware. All rules that match a
/// device apply in order, and later ones override earlier ones.
package struct DeviceRules: Hashable, Sendable {
    private var rules: [DeviceRule] = []

    /// Creates an empty list of rules.
    package init() {}

    /// Parses YAML. Throws `DeviceRulesError`.
    package init(text: String) throws(DeviceRulesError) {
        do { rules = try DeviceRule.all(of: YAMLValue.read(text)) } catch {
            throw DeviceRulesError(line: error.line, reason: error.reason)
        }
    }

    /// The number of rules.
    package var count: Int { rules.count }

    /// Applies the matching rules to a device. Only hardware is changed.
    package func apply(to device: inout SourceDevice) { for rule in matching(device) { rule.apply(to: &device) } }

    /// Returns whether a device is hidden.
    package func hides(_ device: SourceDevice) -> Bool { matching(device).compactMap(\.isHidden).last ?? false }

    /// Returns the devices that are not hidden, with the rules applied.
    package func applied(to devices: [SourceDevice]) -> [SourceDevice] {
        devices.filter { !hides($0) }.map { device in
            var device = device
            apply(to: &device)
            return device
        }
    }

    private func matching(_ device: SourceDevice) -> [DeviceRule] {
        device.info.deviceType == .physical ? rules.filter { $0.pattern.matches(device) } : []
    }
}

extension DeviceRules {
    /// The largest file, much larger than any written by hand.
    private static let largestFile = 64 * 1_024

    /// The rules of this machine: from the file in `PCAST_DEVICES`, else from `~/.config/pcast/devices.yaml` (or under
    /// `XDG_CONFIG_HOME`), else from `/etc/pcast/devices.yaml`; empty without a file. Throws `DeviceRulesError` if a
    /// file cannot be read or parsed, or if the file in `PCAST_DEVICES` does not exist.
    package static var standard: DeviceRules {
        get throws(DeviceRulesError) {
            var environment: [String: String] = [:]
            for name in ["PCAST_DEVICES", "XDG_CONFIG_HOME", "HOME"] {
                environment[name] = getenv(name).map { String(cString: $0) }
            }
            return try standard(environment: environment)
        }
    }

    /// Returns the rules for an environment. `system` is the file for all users. Throws `DeviceRulesError`.
    static func standard(environment: [String: String], system: String = "/etc/pcast/devices.yaml")
        throws(DeviceRulesError) -> DeviceRules
    {
        if let path = environment["PCAST_DEVICES"], !path.isEmpty { return try DeviceRules(file: path) }
        let home = environment["XDG_CONFIG_HOME"] ?? environment["HOME"].map { "\($0)/.config" }
        for path in [home.map { "\($0)/pcast/devices.yaml" }, system].compactMap({ $0 }) {
            if let text = try text(of: path) { return try DeviceRules(text: text, file: path) }
        }
        return DeviceRules()
    }

    /// Reads a YAML file. Throws `DeviceRulesError`.
    package init(file path: String) throws(DeviceRulesError) {
        guard let text = try Self.text(of: path) else {
            throw DeviceRulesError(file: path, line: nil, reason: "the file does not exist")
        }
        try self.init(text: text, file: path)
    }

    private init(text: String, file path: String) throws(DeviceRulesError) {
        do { try self.init(text: text) } catch {
            throw DeviceRulesError(file: path, line: error.line, reason: error.reason)
        }
    }

    /// Returns the text of a file; nil if it does not exist.
    private static func text(of path: String) throws(DeviceRulesError) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw unreadable(path)
        }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: largestFile + 1)
        var count = 0
        while count < bytes.count {
            let read = bytes[count...].withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if read == 0 { break }
            if read < 0, errno == EINTR { continue }
            guard read > 0 else { throw unreadable(path) }
            count += read
        }
        guard count <= largestFile, let text = String(validating: bytes[..<count], as: UTF8.self) else {
            throw DeviceRulesError(file: path, line: nil, reason: "it is larger than 64 KiB, or not UTF-8")
        }
        return text
    }

    private static func unreadable(_ path: String) -> DeviceRulesError {
        DeviceRulesError(file: path, line: nil, reason: "it cannot be read: \(String(cString: strerror(errno)))")
    }
}

/// An error in a file of device rules.
package struct DeviceRulesError: Error, Hashable, Sendable {
    /// The path of the file; nil for a text without a file.
    package var file: String?

    /// The line, starting at 1; nil if the file cannot be read.
    package var line: Int?

    /// The reason for display, with the accepted values.
    package var reason: String

    /// Creates an error.
    package init(file: String? = nil, line: Int?, reason: String) {
        self.file = file
        self.line = line
        self.reason = reason
    }
}

extension DeviceRulesError: CustomStringConvertible {
    /// The file, the line and the reason.
    package var description: String {
        let location = [file, line.map { "line \($0)" }].compactMap { $0 }.joined(separator: ", ")
        return "\(location.isEmpty ? "the device rules" : location): \(reason)"
    }
}
