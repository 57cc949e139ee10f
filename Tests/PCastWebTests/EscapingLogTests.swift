import Logging
import PCastWeb
import Synchronization
import Testing

/// All parts of a line of a log handler.
@Suite struct EscapingLogTests {
    private final class Record: Sendable { let lines = Mutex<[String]>([]) }

    private struct Handler: LogHandler {
        let record: Record
        var metadata: Logger.Metadata = [:]
        var metadataProvider: Logger.MetadataProvider?
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = [metadata, metadataProvider?.get() ?? [:], event.metadata ?? [:]]
            record.lines.withLock {
                $0.append("\(event.message) \(all) \(event.error.map { "\($0)" } ?? "")")
            }
        }
    }

    private struct Failure: Error, CustomStringConvertible { let description: String }

    @Test("no control character of a message, of metadata or of an error reaches a line of a log")
    func everything() {
        let record = Record()
        let text = "x\n\u{1B}]0;forged\u{7}"
        var handler = Handler(record: record)
        handler.metadata["before"] = "\(text)"
        handler.metadataProvider = Logger.MetadataProvider { ["provided": "\(text)"] }
        var escaping = EscapingLogHandler(handler)
        escaping[metadataKey: "one"] = "\(text)"
        var event = LogEvent(
            level: .info, message: "\(text)", metadata: ["own": ["\(text)"]], source: "test", file: "", function: "",
            line: 0)
        event.error = Failure(description: text)
        escaping.log(event: event)
        escaping.metadata = ["all": "\(text)"]
        escaping.metadataProvider = Logger.MetadataProvider { ["later": "\(text)"] }
        escaping.log(event: event)
        let lines = record.lines.withLock { $0 }
        #expect(lines.count == 2)
        for line in lines {
            #expect(line.unicodeScalars.allSatisfy { $0.value >= 0x20 }, "\(line.debugDescription)")
        }
        // Nothing is omitted.
        #expect(lines.map { $0.split(separator: "forged").count } == [7, 6], "\(lines)")
    }
}
