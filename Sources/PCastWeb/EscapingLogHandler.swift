public import Logging

/// Hands on lines of a log without control characters: what is written by others can neither begin a line of its own nor
/// steer a terminal. They are written as `\n` or `\u{1B}`. Long texts are cut.
public struct EscapingLogHandler: LogHandler {
    private var base: any LogHandler

    public init(_ base: any LogHandler) {
        self.base = base
        metadata = base.metadata
        // Handlers without providers complain when one is set.
        if let provider = base.metadataProvider { metadataProvider = provider }
    }

    /// A logger of the same label and level that writes to where `logger` does.
    public static func logger(_ logger: Logger) -> Logger {
        if logger.handler is EscapingLogHandler { return logger }
        return Logger(label: logger.label) { _ in EscapingLogHandler(logger.handler) }
    }

    public var logLevel: Logger.Level {
        get { base.logLevel }
        set { base.logLevel = newValue }
    }

    public var metadata: Logger.Metadata {
        get { base.metadata }
        set { base.metadata = newValue.mapValues { Self.escaped($0) } }
    }

    public var metadataProvider: Logger.MetadataProvider? {
        get { base.metadataProvider }
        set {
            base.metadataProvider = newValue.map { provider in
                Logger.MetadataProvider { provider.get().mapValues { Self.escaped($0) } }
            }
        }
    }

    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { base[metadataKey: key] }
        set { base[metadataKey: key] = newValue.map { Self.escaped($0) } }
    }

    public func log(event: LogEvent) {
        var event = event
        event.message = Logger.Message(stringLiteral: Self.escaped("\(event.message)"))
        event.metadata = event.metadata?.mapValues { Self.escaped($0) }
        event.error = event.error.map { EscapedError(description: Self.escaped("\($0)")) }
        base.log(event: event)
    }

    /// What an error says of itself; a handler writes that.
    private struct EscapedError: Error, CustomStringConvertible {
        let description: String
    }

    /// Characters of a message, and of a value of its metadata.
    private static let longest = 2_048

    private static func escaped(_ text: String) -> String {
        let cut = text.unicodeScalars.prefix(longest + 1)
        guard cut.count > longest else { return text.escapingControlCharacters }
        return String(cut.dropLast()).escapingControlCharacters + "…"
    }

    private static func escaped(_ value: Logger.MetadataValue) -> Logger.MetadataValue {
        switch value {
        case .string(let text): .string(escaped(text))
        case .stringConvertible(let value): .string(escaped("\(value)"))
        case .array(let values): .array(values.map { escaped($0) })
        case .dictionary(let values): .dictionary(values.mapValues { escaped($0) })
        }
    }
}
