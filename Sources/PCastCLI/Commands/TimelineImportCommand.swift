import ArgumentParser
import PCastCore
import PCastJSON
import PCastTimeline

/// The command `pcast timeline import`.
struct TimelineImportCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Bring in the events of a game from a file.",
        discussion: """
            The file holds events in JSON, one a line or in a list, each with an “id”; or the log of a timeline as a platform \
            keeps it, which is brought in with all that was changed and withdrawn. An event counts as known since it happened \
            (its “timestamp”), a line of a log since it was recorded, so that who watches an archived game hears of them as \
            its first viewers did. With --now they count as known from now on.
            """)

    @OptionGroup var game: TimelineGameArguments

    @Argument(help: ArgumentHelp("The file, or - for standard input.", valueName: "file"))
    var file: String

    @Option(help: ArgumentHelp("A file with the description of the game in JSON.", valueName: "file"))
    var info: String?

    @Flag(help: "They count as known from now on, and not since they happened.")
    var now = false

    @OptionGroup var administration: AdministrationOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let console = Console(output)
        let producer = TimelineProducer(try administration.administration(), try game.named())
        var counts: [String: Int] = [:]
        if let info {
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
            let recordedAt = now ? nil : request.recordedAt
            let answer: TimelineProducer.Answer
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
        }
        let words = ["info", "added", "modified", "deleted", "none"]
        console.event(
            "imported",
            [
                "info": .count(counts["info"] ?? 0), "added": .count(counts["added"] ?? 0),
                "modified": .count(counts["modified"] ?? 0), "deleted": .count(counts["deleted"] ?? 0),
                "unchanged": .count(counts["none"] ?? 0),
            ])
        let told = words.compactMap { word in
            counts[word].map { "\($0) \(word == "none" ? "unchanged" : word)" }
        }
        console.say("Imported: \(told.isEmpty ? "nothing" : told.joined(separator: ", ")).")
    }
}
