import Logging
import PCastCompatibility
import PCastCore
import Synchronization
import Testing

@testable import PCast

@Suite struct LoggingTests {
    /// The log lines of an application.
    private final class Lines: Sendable {
        let kept = Mutex<[String]>([])
        var all: [String] { kept.withLock { $0 } }
    }

    private struct Handler: LogHandler {
        let lines: Lines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        init(_ lines: Lines) { self.lines = lines }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { lines.kept.withLock { $0.append("\(event.level) \(event.message)") } }
    }

    @Test(
        "secrets are redacted, and other text is unchanged",
        arguments: [
            ("no connection at http://a/?token=DIGEST:eyJh+b/c==&x=1", "no connection at http://a/?token=…&x=1"),
            ("DIGEST:eyJhcHBsaWNhdGlvbklkIjo= was refused", "DIGEST:… was refused"),
            ("Authorization: Bearer DIGEST:abc, then", "Authorization: Bearer …, then"),
            ("authorization: basic c3R1ZGlvOng=", "authorization: basic …"),
            ("a=ice-pwd:abcdefghijklmnop\r\na=x", "a=ice-pwd:…\r\na=x"),
            ("DIGEST%3AeyJh", "DIGEST%3A…"),
            ("secret=one password=two", "secret=… password=…"),
            ("token=", "token="),
            ("nothing to hide, by „sätzen“", "nothing to hide, by „sätzen“"),
        ])
    func redactsSecrets(line: String, expected: String) {
        #expect(SecretRedaction.redact(line) == expected)
    }

    @Test("a ring keeps the newest lines in order and truncates long ones")
    func logRing() {
        let ring = LogRing(capacity: 3, lineLimit: 5)
        #expect(ring.lines.isEmpty)
        for number in 1...2 { ring.add("\(number)") }
        #expect(ring.lines == ["1", "2"])
        for number in 3...7 { ring.add("\(number)") }
        #expect(ring.lines == ["5", "6", "7"])
        ring.add("long line")
        #expect(ring.lines == ["6", "7", "long…"])
    }

    @Test("lines are stored without secrets, with or without a listener")
    func storedLines() {
        for isEnabled in [true, false] {
            let lines = Lines()
            let ring = LogRing()
            let configuration = LoggingConfiguration(isEnabled: isEnabled, level: .warning) { _ in Handler(lines) }
            let logger = Logger(label: "test") { _ in CollectingLogHandler(ring, configuration: configuration) }
            logger.trace("in too much detail")
            logger.info("began", metadata: ["token": "token=abc"])
            logger.error("failed")
            #expect(lines.all == (isEnabled ? ["error failed"] : []))
            #expect(ring.lines.count == 2)
            #expect(ring.lines.first?.hasSuffix("info began token=…") == true)
            #expect(ring.lines.last?.hasSuffix("error failed") == true)
        }
    }

    @Test("the options enable and disable logging")
    func loggingOptions() {
        var options = PCastOptions()
        #expect(!options.logging.isEnabled)
        options.configureLogging(true, level: .debug)
        #expect(options.logging.isEnabled)
        #expect(options.logging.level == .debug)
        options.configureLogging(false)
        #expect(!options.logging.isEnabled)
    }

    @Test("messages are collected once and contain no token")
    func collectedMessages() async throws {
        let pcast = PCast(PCastOptions(uri: "http://127.0.0.1:1"))
        let token = "DIGEST:eyJhcHBsaWNhdGlvbklkIjoi"
        await #expect(throws: PCastError.self) { try await pcast.start(authenticationToken: token) }
        let (answers, teller) = AsyncStream.makeStream(of: (RequestStatus, String).self)
        pcast.collectLogMessages { _, status, messages in teller.yield((status, messages)) }
        var iterator = answers.makeAsyncIterator()
        let answer = try #require(await iterator.next())
        #expect(answer.0 == .ok)
        #expect(answer.1.contains("authenticated"))
        #expect(!answer.1.contains("eyJ"))
        await pcast.shutdown()
        #expect(!pcast.collectLogMessages().isEmpty)
    }
}
