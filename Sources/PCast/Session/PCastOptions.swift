public import Logging
public import PCastCore

/// The options of a ``PCast`` (Phenix: `PhenixPCastInitializeOptions`).
public struct PCastOptions: Sendable {
    /// The platform, `http(s)://HOST[:PORT]`; nil for the address in the authentication token.
    public var uri: String?

    /// The ID of this device in the platform's records. The default is random.
    public var deviceID: String

    /// The session of an earlier run of the program, which is resumed if the platform still knows it; else, and for
    /// nil, a new one begins.
    public var sessionID: SessionID?

    /// Whether the SDK handles the termination signals SIGINT and SIGTERM.
    ///
    /// It then shuts down, so that the platform and the viewers receive the end of the streams (`pcast-stop`).
    /// Afterwards the process ends as it does without the SDK. A second signal is not delayed. If this is false, the
    /// SDK installs no handler.
    public var processTerminationSignalHandling: Bool

    /// The redirection of playlist requests to another delivery network. It affects only streams with the `streaming`
    /// capability.
    public var streamingSourceMapping: StreamingSourceMapping?

    /// The client that plays streams whose token has the capability `streaming`; nil for none. The module
    /// `PCastPlayback` has one, `.hls`.
    public var streamingClient: StreamingClient?

    /// The configuration of logging. The default is no logging.
    public var logging: LoggingConfiguration

    /// Creates options.
    ///
    /// - Parameters:
    ///   - uri: The platform, `http(s)://HOST[:PORT]`; nil for the address in the authentication token.
    ///   - deviceID: The ID of this device in the platform's records; nil for a random one.
    ///   - sessionID: The session of an earlier run of the program, which is resumed; nil for a new one.
    ///   - processTerminationSignalHandling: Whether the SDK handles SIGINT and SIGTERM.
    ///   - streamingSourceMapping: The redirection of playlist requests; nil for none.
    ///   - streamingClient: The client that plays streams by HLS; nil for none.
    ///   - logging: The configuration of logging.
    public init(
        uri: String? = nil, deviceID: String? = nil, sessionID: SessionID? = nil,
        processTerminationSignalHandling: Bool = false, streamingSourceMapping: StreamingSourceMapping? = nil,
        streamingClient: StreamingClient? = nil, logging: LoggingConfiguration = .off
    ) {
        self.uri = uri
        self.deviceID = deviceID ?? RandomText.identifier()
        self.sessionID = sessionID
        self.processTerminationSignalHandling = processTerminationSignalHandling
        self.streamingSourceMapping = streamingSourceMapping
        self.streamingClient = streamingClient
        self.logging = logging
    }

    /// Turns logging on or off (Phenix: `configureLogging`).
    ///
    /// - Parameters:
    ///   - isEnabled: Whether the handler receives log events.
    ///   - level: The lowest level that it receives.
    ///   - handler: A function that makes the handler; nil for the handler of `LoggingSystem.bootstrap`.
    public mutating func configureLogging(
        _ isEnabled: Bool, level: Logger.Level = .info, handler: (@Sendable (_ label: String) -> any LogHandler)? = nil
    ) {
        logging = LoggingConfiguration(isEnabled: isEnabled, level: level, handler: handler)
    }

    /// Turns on logging to a logger of the application, at its level.
    public mutating func configureLogging(_ logger: Logger) {
        logging = LoggingConfiguration(level: logger.logLevel) { _ in logger.handler }
    }
}

/// Makes random identifiers.
enum RandomText {
    /// Returns 24 hexadecimal digits from the system's secure random generator.
    static func identifier() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<3).map { _ in
            let digits = String(UInt32.random(in: .min ... .max, using: &generator), radix: 16)
            return String(repeating: "0", count: 8 - digits.count) + digits
        }.joined()
    }
}

/// A redirection of the player's playlist requests, e.g. to another delivery network (Phenix:
/// `PhenixStreamingSourceMapping`).
public struct StreamingSourceMapping: Hashable, Sendable {
    /// The regular expression, e.g. `https:\/\/phenixrts\.com\/video`. Its first match in an address is replaced.
    public let patternToReplace: String
    /// The literal text that replaces the match. A dollar sign has no special meaning.
    public let replacement: String

    /// Creates a redirection.
    ///
    /// - Parameters:
    ///   - patternToReplace: The regular expression.
    ///   - replacement: The literal text that replaces the match.
    /// - Throws: ``PCastError`` with the status `badRequest` if the pattern is empty, malformed or matches the empty
    ///   text, and if the replacement has spaces or control characters.
    public init(patternToReplace: String, replacement: String) throws(PCastError) {
        guard !patternToReplace.isEmpty, let pattern = try? Regex(patternToReplace) else {
            throw PCastError(
                .badRequest, .usage, "the pattern of the streaming source mapping is not a valid regular expression")
        }
        guard (try? pattern.wholeMatch(in: "")) == nil else {
            throw PCastError(
                .badRequest, .usage,
                "the pattern of the streaming source mapping matches empty text: give a pattern of the text to replace")
        }
        guard replacement.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7F }) else {
            throw PCastError(
                .badRequest, .usage,
                "the replacement of the streaming source mapping has characters that a URI may not contain")
        }
        self.patternToReplace = patternToReplace
        self.replacement = replacement
    }

    /// Returns the address with the first match replaced; the same address if there is no match.
    public func apply(to address: String) -> String {
        guard let pattern = try? Regex(patternToReplace),
            let match = try? pattern.firstMatch(in: address)
        else { return address }
        return String(address[..<match.range.lowerBound]) + replacement + address[match.range.upperBound...]
    }
}
