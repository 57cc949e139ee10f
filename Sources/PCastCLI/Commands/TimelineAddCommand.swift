import ArgumentParser
import PCastCore
import PCastJSON
import PCastTimeline

/// The command `pcast timeline add`.
struct TimelineAddCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add an event to the timeline of a game, or update or delete it.",
        discussion: """
            Viewers receive the event when their frame reaches its time. An event with an existing --id replaces it; \
            with --update, only the given fields are replaced; --delete removes it.

            Examples:
              pcast timeline add NHL 2354717 --id goal-1 --type goal --team home
              pcast timeline add NHL 2354717 --id goal-1 --update \\
                --description "A. Scorer, 1:0"
            """)

    /// The options for the event.
    struct EventOptions: ParsableArguments {
        @Option(help: ArgumentHelp("ID of the event. (default: its time)", valueName: "id"))
        var id: String?

        @Option(
            help: ArgumentHelp(
                "Type of the event. Known types: \(GameEventKind.known.map(\.rawValue).joined(separator: ", ")).",
                valueName: "type"))
        var type: String?

        @Option(help: ArgumentHelp("Description of the event as text.", valueName: "text"))
        var description: String?

        @Option(help: ArgumentHelp("Team of the event: home or visitor.", valueName: "team"))
        var team: String?

        @Option(help: ArgumentHelp("Period of the game.", valueName: "period"))
        var period: String?

        @Option(
            help: ArgumentHelp("Time of the event, such as 2026-01-31T12:00:00.000Z. (default: now)", valueName: "time")
        )
        var at: String?

        @Option(help: ArgumentHelp("File with the whole event in JSON; - reads standard input.", valueName: "file"))
        var event: String?

        @Flag(help: "Replace only the given fields of an existing event.")
        var update = false

        @Flag(help: "Delete the event.")
        var delete = false
    }

    @OptionGroup var game: TimelineGameArguments

    @OptionGroup(title: "Event") var options: EventOptions

    @OptionGroup(title: "Connection") var administration: AdministrationOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func validate() throws {
        guard !(options.update && options.delete) else {
            throw ValidationError("--update and --delete exclude each other: give one of them.")
        }
        guard options.id != nil || !(options.update || options.delete) else {
            throw ValidationError("--update and --delete require the event: add its --id.")
        }
        if let team = options.team, team != TeamSide.home.rawValue, team != TeamSide.visitor.rawValue {
            throw ValidationError("--team \(team): give home or visitor.")
        }
        if let at = options.at, Timestamp.parse(at) == nil {
            throw ValidationError("--at \(at): write the time as 2026-01-31T12:00:00.000Z.")
        }
    }

    func run() async throws {
        let console = Console(output)
        let producer = TimelineProducer(try administration.administration(), try game.named())
        let now = SystemClock.now()
        let answer: TimelineProducer.PostResult
        let event = options.delete ? nil : try read(now)
        let name = options.id ?? event?.id ?? event?.timestamp ?? Timestamp.text(now)
        if let event {
            answer = try await producer.send(options.update ? "PATCH" : "POST", event: name, body: event.object)
        } else {
            answer = try await producer.send("DELETE", event: name)
        }
        console.event(
            "timeline",
            ["id": .string(name), "change": .string(answer.change), "seq": .count(answer.seq)])
        if let warning = answer.clockWarning { console.warn(warning) }
        console.inform("“\(name)”: \(answer.change == "none" ? "unchanged" : answer.change).")
    }

    private func read(_ now: WallTime) throws(CommandFailure) -> GameEvent {
        var event = GameEvent()
        if let file = options.event {
            let bytes = try TimelineFileArgument.bytes(of: file)
            do throws(TimelineError) {
                event = try GameEvent(parsing: bytes)
            } catch {
                throw CommandFailure(.unusableArguments, describing: error, after: "\(file): ")
            }
        }
        if let type = options.type { event.type = GameEventKind(rawValue: type) }
        if let description = options.description { event.description = description }
        if let team = options.team { event.teamInvolved = TeamSide(rawValue: team) }
        if let period = options.period { event.period = period }
        if let at = options.at { event.timestamp = at }
        if event.timestamp == nil, !options.update { event.timestamp = Timestamp.text(now) }
        do throws(TimelineError) {
            try event.check()
        } catch {
            throw CommandFailure(.unusableArguments, describing: error)
        }
        return event
    }
}
