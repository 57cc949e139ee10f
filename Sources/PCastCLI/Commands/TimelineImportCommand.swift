import ArgumentParser
import PCastCore
import PCastJSON
import PCastTimeline

/// The command `pcast timeline import`.
struct TimelineImportCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import the events of a game from a file.",
        discussion: """
            The file contains JSON events with an “id”, one per line or as an array, or the log of a timeline from a \
            platform. The recording time of an event is its “timestamp”, and that of a log's line is the original one, so \
            viewers of an archived game receive the events as the first viewers did. With --now, it is the current time.

            Example:
              pcast timeline import NHL 2354717 events.json --info game.json
            """)

    /// The options for the import.
    struct ImportOptions: ParsableArguments {
        @Option(help: ArgumentHelp("File with the description of the game in JSON.", valueName: "file"))
        var info: String?

        @Flag(help: "Record each event with the current time, not with the time in the file.")
        var now = false
    }

    @OptionGroup var game: TimelineGameArguments

    @Argument(help: ArgumentHelp("File to import; - reads standard input.", valueName: "file"))
    var file: String

    @OptionGroup(title: "Import") var options: ImportOptions

    @OptionGroup(title: "Connection") var administration: AdministrationOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func run() async throws {
        let console = Console(output)
        let producer = TimelineProducer(try administration.administration(), try game.named())
        var counts: [String: Int] = [:]
        var warning: String?
        if let info = options.info {
            let bytes = try TimelineFileArgument.bytes(of: info)
            let read: GameInfo
            do throws(TimelineError) {
                read = try GameInfo(parsing: bytes)
            } catch {
                throw CommandFailure(.unusableArguments, describing: error, after: "\(info): ")
            }
            counts[try await producer.describe(read.object).change, default: 0] += 1
        }
        for request in try TimelineFileArgument.requests(in: file) {
            let recordedAt = options.now ? nil : request.recordedAt
            let answer: TimelineProducer.PostResult
            switch request.change {
            case .info(let info): answer = try await producer.describe(info.object, recordedAt: recordedAt)
            case .put(let id, let event):
                answer = try await producer.send(
                    "POST", event: id.description, body: event.object, recordedAt: recordedAt)
            case .patch(let id, let fields):
                answer = try await producer.send("PATCH", event: id.description, body: fields, recordedAt: recordedAt)
            case .delete(let id):
                answer = try await producer.send("DELETE", event: id.description, recordedAt: recordedAt)
            }
            counts[answer.change, default: 0] += 1
            if warning == nil { warning = answer.clockWarning }
        }
        // Times of a past game are those of its recording.
        if options.now, let warning { console.warn(warning) }
        let words = ["info", "added", "modified", "deleted", "none"]
        console.event(
            "imported",
            [
                "info": .count(counts["info"] ?? 0), "added": .count(counts["added"] ?? 0),
                "modified": .count(counts["modified"] ?? 0), "deleted": .count(counts["deleted"] ?? 0),
                "unchanged": .count(counts["none"] ?? 0),
            ])
        let values = words.compactMap { word in
            counts[word].map { "\($0) \(word == "none" ? "unchanged" : word)" }
        }
        console.inform("Imported: \(values.isEmpty ? "nothing" : values.joined(separator: ", ")).")
    }
}
