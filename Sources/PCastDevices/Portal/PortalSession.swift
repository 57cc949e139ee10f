import Glibc
import PCastCore
import PCastIO
import Synchronization

/// A session of the desktop portal, which all sources of one specification in this process share. Its thread asks the
/// portal, watches for the end of the session, and closes it shortly after the last source has released it.
final class PortalSession: Sendable {
    enum Phase: Hashable, Sendable {
        /// The portal or the user has not responded yet.
        case pending
        case open(ScreenCastPortal.Stream)
        case over(ScreenCastPortal.Failure)
    }

    private struct State {
        var phase = Phase.pending
        var userCount = 0
        /// The time since which nobody uses it.
        var idleSince: Instant?
        /// The number of sources that wait for a connection to PipeWire, and the connections.
        var requested = 0
        var remotes: [Int32] = []
        var isCancelled = false
    }

    /// The time for which an unused session stays open: between the selection of a device and its opening, and while a
    /// source is reopened with other settings.
    private static let idleTime = TimeSpan.seconds(2)

    private static let interval = TimeSpan.milliseconds(50)

    private let specification: PortalSpecification
    private let state = Monitor(State())
    private static let all = Mutex<[PortalSpecification: PortalSession]>([:])

    private init(_ specification: PortalSpecification) { self.specification = specification }

    /// Returns the session of a specification, and starts one if there is none. Throws `DeviceError.noThread`.
    static func shared(_ specification: PortalSpecification) throws(DeviceError) -> PortalSession {
        try all.withLock { all throws(DeviceError) in
            if let session = all[specification] { return session }
            let session = PortalSession(specification)
            do throws(IOError) {
                _ = try WorkerThread(name: "portal") { session.run() }
            } catch {
                throw .noThread("\(error)")
            }
            all[specification] = session
            return session
        }
    }

    /// The current phase.
    var phase: Phase { state.withLock { state, _ in state.phase } }

    /// Waits until the portal and the user have responded. Throws the error of the request.
    func opened() throws(DeviceError) -> ScreenCastPortal.Stream {
        let phase: Phase? = state.wait(until: nil) { $0.phase == .pending ? nil : $0.phase }
        switch phase {
        case .open(let stream): return stream
        case .over(let failure):
            forget()
            throw failure.error
        case .pending, nil: throw ScreenCastPortal.Failure.cancelled.error
        }
    }

    /// Registers a source, and returns the stream with a new connection to PipeWire. Throws `DeviceError.faulty` if the
    /// session is not open.
    func acquire() throws(DeviceError) -> (stream: ScreenCastPortal.Stream, descriptor: Int32) {
        let isOpen = state.withLock { state, condition in
            guard case .open = state.phase else { return false }
            state.userCount += 1
            state.idleSince = nil
            state.requested += 1
            condition.wakeAll()
            return true
        }
        guard isOpen else { throw .faulty("the screen", reason: "the desktop portal has not responded yet.") }
        let found: Result<(stream: ScreenCastPortal.Stream, descriptor: Int32), ScreenCastPortal.Failure>? =
            state.wait(until: nil) { state in
                switch state.phase {
                case .open(let stream): state.remotes.popLast().map { .success((stream, $0)) }
                case .over(let failure): .failure(failure)
                case .pending: nil
                }
            }
        do {
            return try (found ?? .failure(.cancelled)).get()
        } catch {
            release()
            forget()
            throw error.error
        }
    }

    /// Ends the use of a source.
    func release() {
        state.withLock { state, condition in
            state.userCount -= 1
            if state.userCount == 0 { state.idleSince = MonotonicClock.now() }
            condition.wakeAll()
        }
    }

    /// Waits for the end of the session, which follows the end of its stream if the user has ended the capture. Returns
    /// nil if it does not end in time.
    func end(within timeout: TimeSpan) -> ScreenCastPortal.Failure? {
        state.wait(until: MonotonicClock.now() + timeout) { state in
            if case .over(let failure) = state.phase { failure } else { nil }
        }
    }

    /// Removes the session, so that the next source starts another one.
    func forget() {
        Self.all.withLock { all in if all[specification] === self { all[specification] = nil } }
    }

    // MARK: The thread

    private func run() {
        let portal: ScreenCastPortal
        do throws(DeviceError) {
            portal = try ScreenCastPortal()
        } catch {
            return end(.failed("\(error)"))
        }
        let tokens = PortalTokens()
        do throws(ScreenCastPortal.Failure) {
            let (stream, token) = try portal.open(specification, token: tokens[specification.area])
            tokens.keep(token, for: specification.area)
            state.withLock { state, condition in
                state.phase = .open(stream)
                if state.userCount == 0 { state.idleSince = MonotonicClock.now() }
                condition.wakeAll()
            }
            try watch(portal)
        } catch {
            end(error)
        }
    }

    /// Serves the sources until nobody uses the session. Throws the reason for which it ended.
    private func watch(_ portal: ScreenCastPortal) throws(ScreenCastPortal.Failure) {
        while true {
            if let end = portal.end() { throw end }
            let requested = state.withLock { state, _ in state.requested }
            for _ in 0..<requested {
                let descriptor = try portal.remote()
                state.withLock { state, condition in
                    state.requested -= 1
                    state.remotes.append(descriptor)
                    condition.wakeAll()
                }
            }
            let now = MonotonicClock.now()
            let isUnused = Self.all.withLock { all in
                let isUnused = state.withLock { state, _ in
                    state.userCount == 0 && state.idleSince.map { now - $0 > Self.idleTime } ?? false
                }
                if isUnused, all[specification] === self { all[specification] = nil }
                return isUnused
            }
            if isUnused { throw .cancelled }
            let _: Bool? = state.wait(until: now + Self.interval) { $0.requested > 0 ? true : nil }
        }
    }

    private func end(_ failure: ScreenCastPortal.Failure) {
        state.withLock { state, condition in
            state.phase = .over(failure)
            for descriptor in state.remotes { close(descriptor) }
            state.remotes = []
            condition.wakeAll()
        }
    }
}
