import PCast
import PCastCore
import PCastEdgeAuth
import PCastJSON
import PCastPlayback
import Synchronization

/// A run of `pcast pull` or `pcast push`, whose media the platform processes itself.
struct RemoteRun: Sendable {
    typealias Begin = @Sendable (PCast, _ streamToken: String) async throws(PCastError) -> Publisher

    private let uri: String?
    private let tokens: [String]
    private let duration: TimeSpan?
    private let isDetached: Bool
    private let client: ClientRun

    init(
        role: RunOutcome.Role, uri: String?, tokens: [String], duration: TimeSpan?, isDetached: Bool, console: Console
    ) {
        (self.uri, self.tokens, self.duration, self.isDetached) = (uri, tokens, duration, isDetached)
        client = ClientRun(as: role, console)
    }

    /// Requests a stream and waits for its end. `token` creates the stream's token if the platform runs on this host.
    /// `begin` requests the stream.
    ///
    /// - Throws: ``CommandFailure`` unless it ended as requested.
    func run(
        token: @escaping (ApplicationTokens) throws(EdgeAuthError) -> String, begin: @escaping Begin
    ) async throws {
        try await client.run {
            let (target, pair) = try target(token)
            return try await client.withClient(at: target) { try await runStream(pair, by: $0, begin) }
        }
    }

    private func target(
        _ token: (ApplicationTokens) throws(EdgeAuthError) -> String
    ) throws -> (uri: String?, tokens: TokenPair) {
        let named = uri ?? tokens.lazy.compactMap { TokenPair.field("uri", of: $0) }.first
        let running = LocalCredentialsFile.running(in: .standard())
        guard tokens.isEmpty else {
            guard let uri = named ?? running.first?.uri else {
                throw CommandFailure(.unusableArguments, "The token contains no platform: give --uri.")
            }
            return (uri, try TokenPair(tokens, isLocal: PlatformURI.isOnThisComputer(uri)))
        }
        guard let local = running.first(where: { named == nil || $0.isOf(uri: named) }) else {
            throw Self.missing(at: named)
        }
        let application = ApplicationTokens(application: local.application)
        return (
            local.uri,
            TokenPair(authentication: try application.authentication(), stream: try token(application))
        )
    }

    /// Returns the error for a platform without credentials, which names the missing options.
    static func missing(at uri: String?) -> CommandFailure {
        guard let uri else {
            return CommandFailure(
                .nothingToPlay,
                "No platform with a generated application was found: start “pcast serve”, or give --uri and --token.")
        }
        do throws(CommandFailure) {
            guard try PlatformURI.isOnThisComputer(uri) else { return .needsToken }
        } catch {
            return error
        }
        return CommandFailure(
            .notAuthorized,
            "This user runs no platform at \(uri): start “pcast serve”, or give --token for the platform of another user."
        )
    }

    private func runStream(_ tokens: TokenPair, by pcast: PCast, _ begin: @escaping Begin) async throws -> RunEnd.Cause
    {
        let publisher = try await client.settingUp(pcast) { () throws(PCastError) in
            _ = try await pcast.start(authenticationToken: tokens.authentication)
            return try await begin(pcast, tokens.stream)
        }
        let end = client.end
        publisher.whenEnded { end.end(.stream($0)) }
        client.console.event("running", ["streamId": .string(publisher.streamID.description)])
        client.console.inform("The platform runs the stream \(publisher.streamID).")
        if isDetached { return .elapsed }
        client.console.inform("Press Ctrl-C to stop.")
        return await withTaskGroup { group in
            group.addTask { await client.elapse(duration) }
            let cause = await end.wait()
            publisher.stop()
            group.cancelAll()
            return cause
        }
    }
}

/// The end of a run. Only the first cause is used.
final class RunEnd: Sendable {
    enum Cause: Sendable {
        /// Ctrl-C or SIGTERM.
        case interrupted
        /// The requested duration has passed.
        case elapsed
        /// The last item of a playlist was played to its end.
        case played
        /// No item of a playlist can be played.
        case unplayable(PlaybackError)
        case stream(StreamEndedInfo)
        /// The platform rejects the session.
        case session(RequestStatus)
    }

    private struct State {
        var cause: Cause?
        var waiting: [CheckedContinuation<Cause, Never>] = []
    }

    private let state = Mutex(State())

    /// The cause; nil while the run continues.
    var cause: Cause? { state.withLock { $0.cause } }

    func end(_ cause: Cause) {
        let waiting: [CheckedContinuation<Cause, Never>] = state.withLock { state in
            guard state.cause == nil else { return [] }
            state.cause = cause
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: cause) }
    }

    /// Waits until the run has ended, even if the task is cancelled.
    func wait() async -> Cause {
        await withCheckedContinuation { continuation in
            let cause: Cause? = state.withLock { state in
                if state.cause == nil { state.waiting.append(continuation) }
                return state.cause
            }
            if let cause { continuation.resume(returning: cause) }
        }
    }
}
