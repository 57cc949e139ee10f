import ArgumentParser
import PCastCore
import PCastJSON

/// The command `pcast recordings`.
struct RecordingsCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "recordings",
        abstract: "List and delete the recordings of a platform.",
        subcommands: [RecordingsListCommand.self, RecordingsDeleteCommand.self])
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
