import ArgumentParser
import Foundation
import PCastCore
import PCastJSON

/// The command `pcast recordings`.
struct RecordingsCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "recordings",
        abstract: "List, download and delete the recordings of a platform.",
        subcommands: [RecordingsListCommand.self, RecordingsGetCommand.self, RecordingsDeleteCommand.self])
}

/// The command `pcast recordings list`.
struct RecordingsListCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the recordings of an application, newest last.",
        discussion: """
            Without options, the recordings of the platform that this user started last on this host are listed.

            Example:
              pcast recordings list --uri https://live.example.com --application app:secret
            """)

    @OptionGroup(title: "Connection") var administration: AdministrationOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func run() async throws {
        let console = Console(output)
        let recordings = try await administration.administration().recordings()
        for recording in recordings { report(recording, console) }
        if recordings.isEmpty { console.inform("There are no recordings.") }
    }

    private func report(_ recording: PlatformAdministration.Recording, _ console: Console) {
        console.event(
            "recording",
            [
                "streamId": .string(recording.streamId), "startTime": .text(recording.startTimeText),
                "duration": .count(recording.duration), "size": .count(recording.size),
                "isComplete": .boolean(recording.endTime != nil), "uri": .string(recording.uri),
            ])
        let seconds = recording.duration / 1_000
        let state = recording.endTime == nil ? "recording" : "complete"
        let columns = [
            recording.streamId, recording.startTimeText, "\(seconds) s", "\(recording.size) bytes", state,
            recording.uri,
        ]
        console.result(columns.joined(separator: "  "))
    }
}

/// The command `pcast recordings get`.
struct RecordingsGetCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Download the recording of a stream as one MP4 file.",
        discussion: """
            The media are not encoded again. A range is given in seconds from the beginning, or as times (RFC 3339).

            Example:
              pcast recordings get STREAM --from 60 --to 90 --output goal.mp4
            """)

    /// The options for the file and its range.
    struct RecordingOptions: ParsableArguments {
        @Option(name: .shortAndLong, help: "File to write. (default: STREAM.mp4)")
        var output: String?

        @Option(help: "Beginning of the range.")
        var from: String?

        @Option(help: "End of the range.")
        var to: String?

        /// The range as the query of an address; empty without one.
        var query: String {
            let items = [("from", from), ("to", to)].compactMap { name, value in
                value?.addingPercentEncoding(withAllowedCharacters: .alphanumerics).map { "\(name)=\($0)" }
            }
            return items.isEmpty ? "" : "?" + items.joined(separator: "&")
        }
    }

    @Argument(help: "ID of the stream, as “pcast recordings list” prints it.")
    var stream: String

    @OptionGroup(title: "Recording") var recording: RecordingOptions

    @OptionGroup(title: "Connection") var administration: AdministrationOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func run() async throws {
        let console = Console(output)
        let administration = try administration.administration()
        let found = try await administration.recording(of: stream)
        guard let address = found.downloadUri else {
            throw CommandFailure(.nothingToPlay, "The recording of “\(stream)” has no media yet.")
        }
        let path = recording.output ?? stream.filter { $0 != "/" } + ".mp4"
        let download = RecordingDownload(uri: administration.uri(of: address) + recording.query, path: path)
        let task = Task { try await download.run() }
        let interruption = InterruptHandler { task.cancel() }
        defer { withExtendedLifetime(interruption) {} }
        let size: Int64
        do {
            size = try await task.value
        } catch is CancellationError {
            throw CommandFailure(.failed, "The download was interrupted. No file remains.")
        }
        console.event("downloaded", ["streamId": .string(stream), "path": .string(path), "size": .count(size)])
        console.inform("Downloaded \(size) bytes to \(path).")
    }
}

/// The command `pcast recordings delete`.
struct RecordingsDeleteCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete the recording of a stream that has ended.",
        discussion: """
            Example:
              pcast recordings delete STREAM
            """)

    @Argument(help: "ID of the stream, as “pcast recordings list” prints it.")
    var stream: String

    @OptionGroup(title: "Connection") var administration: AdministrationOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func run() async throws {
        let console = Console(output)
        try await administration.administration().deleteRecording(of: stream)
        console.event("deleted", ["streamId": .string(stream)])
        console.inform("Deleted the recording of \(stream).")
    }
}
