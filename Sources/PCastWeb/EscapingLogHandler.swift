package import Logging

/// A log handler that escapes control characters, such as `\n` or `\u{1B}`, before it forwards a line to another
/// handler. Text from peers can then neither begin a new line nor control a terminal. Long text is truncated to 2,048
/// characters.
package struct EscapingLogHandler: LogHandler {
    private var base: any LogHandler

    /// Creates a handler that escapes control characters and forwards records to another handler.
    package init(_ base: any LogHandler) {
        self.base = base
        metadata = base.metadata
        // Handlers without providers complain when one is set.
        if let provider = base.metadataProvider { metadataProvider = provider }
    }

    /// Returns a logger with the same label and output that escapes control characters.
    package static func logger(_ logger: Logger) -> Logger {
        if logger.handler is EscapingLogHandler { return logger }
        return Logger(label: logger.label) { _ in EscapingLogHandler(logger.handler) }
    }

    /// The level of the underlying handler.
    package var logLevel: Logger.Level {
        get { base.logLevel }
        set { base.logLevel = newValue }
    }

    /// The metadata of the underlying handler.
    package var metadata: Logger.Metadata {
        get { base.metadata }
        set { base.metadata = newValue.mapValues { Self.escaped($0) } }
    }

    /// The metadata provider of the underlying handler.
    package var metadataProvider: Logger.MetadataProvider? {
        get { base.metadataProvider }
        set {
            base.metadataProvider = newValue.map { provider in
                Logger.MetadataProvider { provider.get().mapValues { Self.escaped($0) } }
            }
        }
    }

    /// A value of the underlying handler's metadata; nil if there is none.
    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { base[metadataKey: key] }
        set { base[metadataKey: key] = newValue.map { Self.escaped($0) } }
    }

    /// Escapes the message and the metadata of an event, and forwards it.
    package func log(event: LogEvent) {
        var event = event
        event.message = Logger.Message(stringLiteral: Self.escaped("\(event.message)"))
        event.metadata = event.metadata?.mapValues { Self.escaped($0) }
        event.error = event.error.map { EscapedError(description: Self.escaped("\($0)")) }
        base.log(event: event)
    }

    /// An error with the escaped description of another one, because handlers write the description.
    private struct EscapedError: Error, CustomStringConvertible {
        let description: String
    }

    /// The maximum number of characters of a message and of a metadata value.
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
