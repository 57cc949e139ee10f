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
