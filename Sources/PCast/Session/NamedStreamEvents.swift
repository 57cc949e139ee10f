import FoundationEssentials
public import PCastCore
import PCastIO
import PCastWeb
import Synchronization

/// The permission to read from the management API of a platform.
public struct ManagementCredentials: Sendable {
    /// Returns the value of the field `Authorization`.
    let authorization: @Sendable () async -> String

    /// Returns the credentials of an application.
    ///
    /// - Parameters:
    ///   - id: The identifier of the application.
    ///   - secret: Its secret, which must not leave the backend.
    /// - Returns: The credentials.
    public static func application(_ id: String, secret: String) -> ManagementCredentials {
        let field = "Basic " + Base64.encode(Array("\(id):\(secret)".utf8))
        return ManagementCredentials { field }
    }

    /// Returns the credentials of a JSON Web Token with a role of the management API, such as `view`.
    ///
    /// - Parameter token: A function that returns a valid token. It is called for each connection.
    /// - Returns: The credentials.
    public static func token(_ token: @escaping @Sendable () async -> String) -> ManagementCredentials {
        ManagementCredentials { "Bearer " + (await token()) }
    }
}

/// An event of a declared stream of a platform.
public struct NamedStreamNotification: Hashable, Sendable {
    /// The kinds of events.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// Viewers can join.
        case ready
        /// The stream has ended.
        case ended
        /// Viewers wait for a source that is opened on demand.
        case demanded
        /// The media of another publisher are forwarded.
        case switched
    }

    /// The kind of event.
    public let kind: Kind
    /// The name of the stream.
    public let name: String
    /// The stream that viewers receive; nil while there is none.
    public let streamID: StreamID?
    /// The publisher whose media are forwarded since a switch; nil for other events.
    public let publisherID: StreamID?
    /// The reason of a switch as a word, such as `silent`; nil for other events.
    public let reason: String?
    /// The time of the event by the clock of the platform.
    public let time: WallTime
}

/// An element of ``PCast/namedStreamUpdates(_:)``.
public enum NamedStreamUpdate: Hashable, Sendable {
    /// The platform sends the events from now on. After a lost connection, those since the last event follow.
    case online
    /// The connection was lost. The client reconnects automatically.
    case offline
    /// An event of a stream.
    case event(NamedStreamNotification)
    /// Events are missing, because the application or the connection was too slow or absent for too long, or because the
    /// platform has restarted. The present states are those of `GET /pcast/names`.
    case missed
}

extension PCast {
    /// Returns the events of the declared streams of an application from now on, which need no session.
    ///
    ///     for try await update in try pcast.namedStreamUpdates(.application("my-application", secret: secret)) {
    ///         if case .event(let event) = update { print(event.name, event.kind) }
    ///     }
    ///
    /// At most 256 updates wait for a slow reader. Later ones are dropped, and `missed` takes their place. A lost connection
    /// is restored automatically as long as the updates are read.
    ///
    /// - Parameter credentials: The application's credentials, or a token with a role.
    /// - Returns: The updates. They end with a ``PCastError`` with the status `unauthorized` if the credentials are
    ///   rejected, and `failed` if the address is not that of a platform with events of names.
    /// - Throws: ``PCastError`` with the status `badRequest` if the options have no address of a platform.
    public func namedStreamUpdates(
        _ credentials: ManagementCredentials
    ) throws(PCastError) -> AsyncThrowingStream<NamedStreamUpdate, any Error> {
        let platform = try PlatformAddress(option: options.uri, token: "")
        let (updates, continuation) = AsyncThrowingStream.makeStream(
            of: NamedStreamUpdate.self, bufferingPolicy: .bufferingOldest(NamedStreamFeed.capacity))
        let feed = NamedStreamFeed { update in
            if case .dropped = continuation.yield(update) { false } else { true }
        }
        let task = Task {
            do throws(PCastError) {
                try await feed.run(platform.uri + "/pcast/names/events", credentials)
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return updates
    }
}

/// The connection that receives the events of names.
final class NamedStreamFeed: Sendable {
    /// The maximum number of updates that wait for the application.
    static let capacity = 256
    /// The time without data after which a connection counts as lost. The platform sends a comment every 15 seconds.
    private static let silence = Duration.seconds(45)
    private static let mediaType = "text/event-stream"

    private struct State {
        var parser = ServerSentEvents()
        /// The identifier of the last event; empty if there is none.
        var lastID = ""
        var isOnline = false
        /// Whether updates were dropped since the last one that was delivered.
        var hasDropped = false
    }

    private struct Content: Decodable {
        let name: String
        let streamId: String?
        let publisherId: String?
        let reason: String?
        let timestamp: String
    }

    private let state = Mutex(State())
    /// Delivers an update. Returns false if it was dropped.
    private let deliver: @Sendable (NamedStreamUpdate) -> Bool

    init(_ deliver: @escaping @Sendable (NamedStreamUpdate) -> Bool) { self.deliver = deliver }

    /// The identifier of the last event that has arrived; nil if there is none.
    var lastID: String? { state.withLock { $0.lastID.isEmpty ? nil : $0.lastID } }

    /// Receives events until the task is cancelled.
    ///
    /// - Throws: `PCastError` if another attempt would not succeed.
    func run(_ uri: String, _ credentials: ManagementCredentials) async throws(PCastError) {
        var failures = 0
        while !Task.isCancelled {
            let retryAfter = try await connect(uri, credentials)
            failures = disconnected() ? 0 : failures + 1
            // The platform ends a response after ten minutes, which is no failure.
            var delay = RecoveryPolicy.delay(before: max(failures, 1))
            if let retryAfter { delay = .seconds(min(max(retryAfter, 1), 60)) }
            try? await Task.sleep(for: delay * Double.random(in: 0.5...1))
        }
    }

    /// Receives the events of one response. Returns the delay of `Retry-After` in seconds; nil if the platform names none.
    private func connect(_ uri: String, _ credentials: ManagementCredentials) async throws(PCastError) -> Int? {
        let authorization = await credentials.authorization()
        // A control character could end the field.
        guard authorization.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw PCastError(.badRequest, .usage, "the token contains characters that are not printable ASCII")
        }
        var fields = [("Authorization", authorization), ("Accept", Self.mediaType)]
        if let lastID { fields.append(("Last-Event-ID", lastID)) }
        let head: HTTPDownload.Head
        do throws(HTTPDownload.Failure) {
            head = try await HTTPDownload.get(
                uri, limit: .max, timeout: Self.silence, fields: fields.map { (name: $0.0, value: $0.1) }
            ) { [weak self] head, bytes in
                head.contentType == Self.mediaType ? self?.receive(bytes) ?? false : false
            }
        } catch {
            guard case .invalidURI = error else { return nil }
            throw PCastError(.badRequest, .usage, "the address of the platform is invalid")
        }
        let words = "the platform answered the request for events with the status \(head.status)"
        switch head.status {
        case 200..<300 where head.contentType != Self.mediaType:
            throw PCastError(.failed, .platform, "the server sends no events: check the address of the platform")
        case 401, 403: throw PCastError(.unauthorized, .platform, words)
        case 400..<500 where head.status != 429 && head.status != 408:
            throw PCastError(.failed, .platform, "\(words): check its address and its version")
        default: return head.retryAfter
        }
    }

    /// Receives bytes of a response. Returns false if they are no events, and the connection must end.
    func receive(_ bytes: [UInt8]) -> Bool {
        state.withLock { state in
            if !state.isOnline {
                (state.isOnline, state.parser) = (true, ServerSentEvents())
                send(.online, &state)
            }
            do throws(ServerSentEvents.TooLarge) {
                let events = try state.parser.parse(bytes)
                for event in events { if let update = Self.update(event) { send(update, &state) } }
                if !state.parser.lastID.isEmpty { state.lastID = state.parser.lastID }
                // A comment shows that the application could have read what has arrived before.
                if events.isEmpty { sendDropped(&state) }
                return true
            } catch {
                return false
            }
        }
    }

    /// Records that the connection is lost. Returns whether there was one.
    @discardableResult
    func disconnected() -> Bool {
        state.withLock { state in
            guard state.isOnline else { return false }
            state.isOnline = false
            send(.offline, &state)
            return true
        }
    }

    private func send(_ update: NamedStreamUpdate, _ state: inout State) {
        sendDropped(&state)
        if state.hasDropped || !deliver(update) { state.hasDropped = true }
    }

    /// Reports that updates were dropped, if the application can receive it.
    private func sendDropped(_ state: inout State) {
        if state.hasDropped, deliver(.missed) { state.hasDropped = false }
    }

    /// Returns an event as an update; nil for a type that this version does not know, or for invalid content.
    private static func update(_ event: ServerSentEvents.Event) -> NamedStreamUpdate? {
        if event.type == "missed" { return .missed }
        guard let kind = NamedStreamNotification.Kind(rawValue: event.type),
            let content = try? JSONDecoder().decode(Content.self, from: Data(event.data.utf8)),
            let time = Timestamp.parse(content.timestamp)
        else { return nil }
        return .event(
            NamedStreamNotification(
                kind: kind, name: content.name, streamID: content.streamId.map { StreamID($0) },
                publisherID: content.publisherId.map { StreamID($0) }, reason: content.reason, time: time))
    }
}
