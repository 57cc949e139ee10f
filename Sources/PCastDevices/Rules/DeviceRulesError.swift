/// What is wrong with a file of device rules.
public struct DeviceRulesError: Error, Hashable, Sendable {
    /// Nil for a text that is of no file.
    public var file: String?

    /// The first is 1; nil when the file cannot be read at all.
    public var line: Int?

    /// For people: what stands there and what is accepted instead.
    public var reason: String

    public init(file: String? = nil, line: Int?, reason: String) {
        self.file = file
        self.line = line
        self.reason = reason
    }
}

extension DeviceRulesError: CustomStringConvertible {
    public var description: String {
        let place = [file, line.map { "line \($0)" }].compactMap { $0 }.joined(separator: ", ")
        return "\(place.isEmpty ? "the device rules" : place): \(reason)"
    }
}
