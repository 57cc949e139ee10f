import HTTPTypes
import Hummingbird
import NIOCore
import PCastCore

/// The requests for declared streams.
extension ManagementAPI {
    private struct NameList: Encodable {
        let status = "ok"
        let names: [NamedStreamState]
    }

    private struct OneName: Encodable {
        let status = "ok"
        let name: NamedStreamState
    }

    func listNames(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        ApplicationAnswer.json(NameList(names: await names.states(of: request.application)))
    }

    func inspectName(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        guard let state = await names.state(of: try request.part("name"), request.application) else { throw .notFound }
        return ApplicationAnswer.json(OneName(name: state))
    }

    /// Declares a stream, or changes its declaration.
    ///
    /// - Throws: ``ApplicationFailure``.
    func setName(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let name = try request.part("name")
        let body = try request.decoded(DeclarationRequest.self)
        guard await names.permits(name, request.application) else {
            throw ApplicationFailure(
                .conflict, "conflict", "The stream “\(name)” is declared for another application: use another name.")
        }
        let declaration = try await body.declaration(name, of: request.application, names)
        do throws(NamedStreamService.ChangeFailure) {
            try await names.set(declaration)
        } catch {
            // A fallback depends on the other declarations, and “onDemand” on the source.
            guard case .mistake(let mistake) = error,
                mistake.key == "onDemand" || mistake.key == "fallback" && body.fallback?.isEmpty == false
            else { throw failure(error) }
            throw ApplicationFailure(.conflict, "conflict", Self.sentence(mistake))
        }
        return try await inspectName(request)
    }

    func removeName(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let name = try request.part("name")
        let isRemoved: Bool
        do throws(NamedStreamService.ChangeFailure) {
            isRemoved = try await names.remove(name, of: request.application)
        } catch {
            throw failure(error)
        }
        guard isRemoved else { throw .notFound }
        return ApplicationAnswer.done
    }

    private func failure(_ failure: NamedStreamService.ChangeFailure) -> ApplicationFailure {
        switch failure {
        case .mistake(let mistake): return .badRequest(Self.sentence(mistake))
        case .records(let error):
            logger.error("declaration not stored", metadata: ["error": "\(error)"])
            return .records
        }
    }

    private static func sentence(_ mistake: StreamDeclarations.Mistake) -> String {
        "“\(mistake.key)” of the stream “\(mistake.name)” \(mistake.reason)."
    }

    /// Switches a stream on, off, or to a publisher that stands by.
    ///
    /// - Throws: ``ApplicationFailure``.
    func operateName(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let name = try request.part("name")
        switch try request.part("operation") {
        case "on", "off":
            let isOn = try request.part("operation") == "on"
            guard await names.setOn(isOn, name, of: request.application) else { throw .notFound }
        case "switch":
            guard let isSwitched = await names.switchToStandby(name, of: request.application) else { throw .notFound }
            guard isSwitched else {
                throw ApplicationFailure(
                    .conflict, "conflict", "No publisher of the stream stands by: connect one first.")
            }
        default: throw .notFound
        }
        return ApplicationAnswer.done
    }
}

/// The events of declared streams as server-sent events (HTML Standard, section 9.2).
extension ManagementAPI {
    static let nameEventsPath = "/pcast/names/events"
    /// The time after which a response ends. The client reconnects, and its credentials are checked again.
    private static let eventsTime = Duration.seconds(600)
    /// The interval of comments that prevent proxies from closing the connection.
    private static let heartbeat = Duration.seconds(15)

    /// Returns the events of the application's declared streams from now on, or from the last one that the client knows.
    ///
    /// - Throws: ``ApplicationFailure``.
    func followNames(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        guard let reader = names.eventLog.reader(of: request.application, after: request.lastEventID) else {
            throw ApplicationFailure(
                .serviceUnavailable, "capacity",
                "The events have \(NameEventLog.maximumReaders) readers, which is the maximum: close one first.")
        }
        let log = names.eventLog
        return Response(
            status: .ok, headers: StreamEvents.headers,
            body: ResponseBody { writer in
                var reader = reader
                let end = ContinuousClock.now + Self.eventsTime
                let heartbeats = Task { [wake = reader.wake] in
                    while (try? await Task.sleep(for: Self.heartbeat)) != nil { wake.yield() }
                }
                defer { heartbeats.cancel() }
                let beginning = log.beginning(at: reader.position)
                try await writer.write(ByteBuffer(string: beginning + log.read(&reader)))
                for await _ in reader.wakes {
                    let text = log.read(&reader)
                    try await writer.write(ByteBuffer(string: text.isEmpty ? ":\n\n" : text))
                    if ContinuousClock.now >= end { break }
                }
                // The platform may stop after its last events.
                let rest = log.read(&reader)
                if !rest.isEmpty { try await writer.write(ByteBuffer(string: rest)) }
                try await writer.finish(nil)
            })
    }
}

/// The JSON form of a declaration, with the keys of the configuration file.
struct DeclarationRequest: Decodable {
    let source: String?
    let onDemand: Bool?
    /// The duration in seconds.
    let closeAfter: Double?
    let fallback: String?
    let slate: String?
    let standby: Bool?
    let switchBack: Bool?
    let forward: [String]?
    let record: Bool?
    let capabilities: [String]?

    fileprivate func declaration(
        _ name: String, of application: ApplicationID, _ names: NamedStreamService
    ) async throws(ApplicationFailure) -> StreamDeclaration {
        var declaration = StreamDeclaration(name: name)
        declaration.application = application
        declaration.source = source
        declaration.isOnDemand = onDemand ?? false
        if let closeAfter {
            guard closeAfter >= 0, closeAfter <= 86_400 else {
                throw .badRequest("“closeAfter” is invalid: send 0 to 86400 seconds.")
            }
            declaration.closeAfter = .milliseconds(Int64(closeAfter * 1_000))
        }
        if let fallback {
            declaration.fallback = StreamDeclaration.Fallback(
                fallback, isDeclared: await names.declarations[fallback] != nil)
        }
        declaration.slate = slate ?? StreamDeclaration.defaultSlate
        declaration.hasStandby = standby ?? false
        declaration.switchesBack = switchBack ?? true
        declaration.forward = forward ?? []
        declaration.isRecorded = record ?? false
        declaration.capabilities = capabilities ?? []
        return declaration
    }
}

/// The JSON form of a declared stream with its state.
struct NamedStreamState: Encodable, Sendable {
    struct Publisher: Encodable {
        let streamId: String
        /// `source`, `publisher` or `fallback`.
        let role: String
        /// Whether viewers receive its media.
        let isSelected: Bool
    }

    struct Push: Encodable {
        /// The address without secrets.
        let uri: String
        let state: String
        let failure: String?
    }

    struct Switch: Encodable {
        let to: String
        let reason: String
        /// The time in milliseconds since 1970 (UTC).
        let time: Int64
    }

    let name: String
    /// The stream that viewers receive; nil while there is none.
    let streamId: String?
    /// `off`, `idle`, `waiting`, `live`, `fallback` or `missing`.
    let state: String
    /// The source without secrets.
    let source: String?
    let onDemand: Bool
    let standby: Bool
    let record: Bool
    let viewers: Int
    let publishers: [Publisher]
    let lastSwitch: Switch?
    /// The reason why the source could not be opened the last time.
    let failure: String?
    let forward: [Push]
}

extension NamedStreamService {
    /// Returns whether an application may declare a name.
    func permits(_ name: String, _ application: ApplicationID) -> Bool {
        declarations[name] == nil || isDeclared(name, of: application)
    }

    /// Returns the streams of an application by their names.
    func states(of application: ApplicationID) -> [NamedStreamState] {
        entries.filter { $0.value.application == application }.sorted { $0.key < $1.key }
            .map { state($0.key, $0.value) }
    }

    /// Returns a stream of an application; nil if it is not declared.
    func state(of name: String, _ application: ApplicationID) -> NamedStreamState? {
        guard let entry = entries[name], entry.application == application else { return nil }
        return state(name, entry)
    }

    private func state(_ name: String, _ entry: Entry) -> NamedStreamState {
        let machine = entry.machine
        let lastSwitch = machine.lastSwitch.flatMap { last in
            entry.switchedAt.map {
                NamedStreamState.Switch(
                    to: "\(last.to)", reason: last.reason.rawValue, time: $0.millisecondsSinceEpoch)
            }
        }
        // The stream opens a moment after the machine has decided so.
        let isOpening = machine.isOn && machine.isOpen && entry.stream == nil
        return NamedStreamState(
            name: name, streamId: entry.stream?.description, state: isOpening ? "waiting" : machine.stateName,
            source: entry.declaration.source.map(Self.withoutSecrets), onDemand: entry.declaration.isOnDemand,
            standby: entry.declaration.hasStandby, record: entry.declaration.isRecorded, viewers: machine.viewers,
            publishers: machine.publishers.map {
                NamedStreamState.Publisher(
                    streamId: "\($0.id)", role: $0.role.rawValue, isSelected: $0.id == machine.selected)
            }, lastSwitch: lastSwitch, failure: entry.failure,
            forward: entry.declaration.forward.map { uri in
                let push = entry.pushes[uri]
                return NamedStreamState.Push(
                    uri: Self.withoutSecrets(uri), state: push?.id == nil ? "waiting" : "running",
                    failure: push?.failure)
            })
    }

    /// Returns a URI without user information, query and stream key.
    private static func withoutSecrets(_ uri: String) -> String { MediaURI(uri).map { "\($0)" } ?? "…" }
}
