import PCastJSON
public import PCastOverlay
import PCastWeb
import Synchronization

/// A player that is elsewhere (Ease Live's `SecondScreenPlayerPlugin`): what another overlay's bridge reports of its player is
/// reported here, and what this overlay asks for is asked there. Nothing is played here.
public final class SecondScreenPlayerPlugin: OverlayPlayerPlugin {
    private struct State: Sendable {
        weak var overlay: Overlay?
        var following: Task<Void, Never>?
        var outgoing: AsyncStream<Word>.Continuation?
    }

    /// What is said to the other.
    fileprivate enum Word: Sendable {
        case request(OverlayMessage)
        case alive
    }

    /// Requests that wait to be sent.
    private static let backlog = 64

    private let address: String
    private let timeout: Duration
    private let state = Mutex(State())

    /// - Parameters:
    ///   - address: of the other bridge's WebSocket, `ws://HOST:PORT/bridge/PROGRAM?token=TOKEN`; without the token it looks on.
    ///   - patience: before it tries again, when the other is not there.
    public init(_ address: String, timeout: Duration = .seconds(1)) {
        (self.address, self.timeout) = (address, timeout)
    }

    deinit { destroy() }

    public func create(_ overlay: Overlay) { state.withLock { $0.overlay = overlay } }

    public func load() {
        let isFollowing = state.withLock { $0.following != nil }
        guard !isFollowing else { return }
        let task = Task { [weak self, address, timeout] in
            var isMissed = false
            while !Task.isCancelled {
                let page = RemotePage()
                var reason = "it has gone"
                do {
                    guard let words = self?.open() else { return }
                    try await WebSocketClient().connect(to: address) { [weak self] connection in
                        try await page.follow(connection, words) { [weak self] in self?.hear($0) }
                    }
                } catch {
                    reason = "\(error)"
                }
                // Said once each time that it goes.
                if !isMissed || page.wasWelcome, !Task.isCancelled { self?.complain("no other screen: \(reason)") }
                isMissed = true
                try? await Task.sleep(for: timeout)
            }
        }
        state.withLock { $0.following = task }
    }

    public func destroy() {
        let task = state.withLock { state in
            defer { state.following = nil }
            state.outgoing?.finish()
            return state.following
        }
        task?.cancel()
    }

    private var overlay: Overlay? { state.withLock { $0.overlay } }

    private func open() -> AsyncStream<Word> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Word.self, bufferingPolicy: .bufferingNewest(Self.backlog))
        state.withLock { $0.outgoing = continuation }
        return stream
    }

    private func hear(_ envelope: OverlayEnvelope) {
        switch envelope.event {
        case "bridge.keepalive": say(.alive)
        case "bridge.error": complain("the other screen: \(envelope.metadata["reason"]?.string ?? "it is not done")")
        default: if let report = try? OverlayMessage(report: envelope) { overlay?.post(report) }
        }
    }

    private func complain(_ reason: String) {
        overlay?.post(.playerError(.playerConnectivity(level: .warning, reason: reason)))
    }

    // MARK: To the other player

    private func say(_ word: Word) { state.withLock { _ = $0.outgoing?.yield(word) } }

    private func ask(_ message: OverlayMessage) { say(.request(message)) }

    public func setTime(_ timecode: Int64) { ask(.bridgeTime(timecode)) }
    public func setState(_ state: OverlayPlayerState) { ask(.bridgeState(state)) }
    public func setSpeed(_ speed: Double) { ask(.bridgeSpeed(speed)) }
    public func setVolume(_ volume: Int) { ask(.bridgeVolume(volume)) }
    public func setMute(_ isMuted: Bool) { ask(.bridgeMute(isMuted)) }
    public func setVideoScale(_ scale: VideoScale) { ask(.bridgeVideoScale(scale)) }
    public func setControllerVisible(_ isVisible: Bool) { ask(.bridgeStage(isVisible ? .visible : .hidden)) }
    public func didSwipeStage(_ direction: OverlaySwipe) { ask(.bridgeStageSwipe(direction)) }
}

/// This end of a connection to another bridge.
private final class RemotePage: Sendable {
    /// Of what it was told last.
    private let epoch = Atomic<Int64>(0)
    private let welcome = Atomic(false)

    var wasWelcome: Bool { welcome.load(ordering: .relaxed) }

    func follow(
        _ connection: WebSocketConnection, _ words: AsyncStream<SecondScreenPlayerPlugin.Word>,
        _ hear: @escaping @Sendable (OverlayEnvelope) -> Void
    ) async throws {
        try await withThrowingTaskGroup { group in
            group.addTask { try await self.speak(connection, words) }
            defer { group.cancelAll() }
            try await connection.forEachMessage { message in
                guard case .text(let text) = message, let envelope = try? OverlayEnvelope(text: text) else { return }
                self.welcome.store(true, ordering: .relaxed)
                self.epoch.store(envelope.epoch, ordering: .relaxed)
                hear(envelope)
            }
        }
    }

    /// All in one place, so that it goes out in the order of its numbers: what comes behind a higher one is not heard.
    private func speak(
        _ connection: WebSocketConnection, _ words: AsyncStream<SecondScreenPlayerPlugin.Word>
    ) async throws {
        var sequence: Int64 = 0
        func say(_ envelope: OverlayEnvelope?) async throws {
            guard var envelope else { return }
            sequence += 1
            (envelope.sequence, envelope.epoch) = (sequence, epoch.load(ordering: .relaxed))
            try await connection.send(.text(envelope.text))
        }
        try await say(OverlayEnvelope("bridge.ready", sequence: 0, epoch: 0))
        try await say(OverlayEnvelope("app.ready", sequence: 0, epoch: 0))
        for await word in words {
            switch word {
            case .request(let message): try await say(message.request(sequence: 0, epoch: 0))
            case .alive: try await say(OverlayEnvelope("app.keepalive", sequence: 0, epoch: 0))
            }
        }
    }
}
