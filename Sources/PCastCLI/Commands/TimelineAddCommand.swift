import ArgumentParser
import PCastCore
import PCastJSON
import PCastTimeline

/// The command `pcast timeline add`.
struct TimelineAddCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Tell what has happened in a game, or what is otherwise than was told.",
        discussion: """
            Viewers hear of it when their picture comes to that moment. What is told again under its --id takes the place of \
            what was told before, with --update only the fields that are given; --delete says that it is not so.

            For example, a goal that has just fallen, and then who has scored it:
              pcast timeline add NHL 2354717 --id goal-1 --type goal --team home
              pcast timeline add NHL 2354717 --id goal-1 --update --description "A. Scorer, 1:0"
            """)

    @OptionGroup var game: TimelineGameArguments

    @Option(help: ArgumentHelp("How the event is named from then on; without it, by its time.", valueName: "id"))
    var id: String?

    @Option(
        help: ArgumentHelp(
            "What happened, in any word; known are \(GameEventKind.known.map(\.rawValue).joined(separator: ", ")).",
            valueName: "type"))
    var type: String?

    @Option(help: ArgumentHelp("What happened, for people.", valueName: "text"))
    var description: String?

    @Option(help: ArgumentHelp("home or visitor.", valueName: "team"))
    var team: String?

    @Option(help: ArgumentHelp("In which period.", valueName: "period"))
    var period: String?

    @Option(help: ArgumentHelp("When it happened, as 2026-01-31T12:00:00.000Z; without it, now.", valueName: "time"))
    var at: String?

    @Option(help: ArgumentHelp("A file with the whole event in JSON, or - for standard input.", valueName: "file"))
    var event: String?

    @Flag(help: "Change the given fields of an event that was told, and leave the others.")
    var update = false

    @Flag(help: "The event is not so.")
    var delete = false

    @OptionGroup var administration: AdministrationOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard !(update && delete) else { throw ValidationError("--update and --delete do not go together.") }
        guard id != nil || !(update || delete) else { throw ValidationError("Which event: give its --id.") }
    }

    func run() async throws {
        let console = Console(output)
        let producer = TimelineProducer(try administration.administration(), try game.named())
        let now = SystemClock.now()
        let answer: TimelineProducer.Answer
        let event = delete ? nil : try self.read(now)
        let name = id ?? event?.id ?? event?.timestamp ?? Timestamp.text(now)
        if let event {
            answer = try await producer.send(update ? "PATCH" : "POST", event: name, body: event.object)
        } else {
            answer = try await producer.send("DELETE", event: name)
        }
        console.event(
            "timeline",
            ["id": .string(name), "change": .string(answer.change), "seq": .count(answer.seq)])
        console.say("“\(name)”: \(answer.change == "none" ? "it is so already" : answer.change).")
    }

    private func read(_ now: WallTime) throws(CommandFailure) -> GameEvent {
        var event = GameEvent()
        if let file = self.event {
            let bytes = try TimelineFileArgument.bytes(of: file)
            do throws(TimelineError) {
                event = try GameEvent(parsing: bytes)
            } catch {
                throw CommandFailure(.unusableArguments, describing: error, after: "\(file): ")
            }
        }
        if let type { event.type = GameEventKind(rawValue: type) }
        if let description { event.description = description }
        if let team { event.teamInvolved = TeamSide(rawValue: team) }
        if let period { event.period = period }
        if let at { event.timestamp = at }
        if event.timestamp == nil, !update { event.timestamp = Timestamp.text(now) }
        do throws(TimelineError) {
            try event.check()
        } catch {
            throw CommandFailure(.unusableArguments, describing: error)
        }
        return event
    }
}
