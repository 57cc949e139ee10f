public import PCastOverlay
import PCastWeb
import Synchronization

/// A player that is elsewhere (Ease Live's `SecondScreenPlayerPlugin`): what another overlay's bridge reports of its player is
/// reported here, and what this overlay asks for is asked there. Nothing is played here.
public final class SecondScreenPlayerPlugin: OverlayPlayerPlugin {
    private struct State: Sendable {
        weak var overlay: Overlay?
        var following: Task<Void, Never>?
        var outgoing: AsyncStream<OverlayMessage>.Continuation?
    }

    /// Requests that wait to be sent.
    private static let backlog = 64

    private let address: String
    private let patience: Duration
    private let state = Mutex(State())

    /// - Parameters:
    ///   - address: of the other bridge's WebSocket, `ws://HOST:PORT/bridge/PROGRAM?token=TOKEN`; without the token it looks on.
    ///   - patience: before it tries again, when the other is not there.
    public init(_ address: String, patience: Duration = .seconds(1)) {
        (self.address, self.patience) = (address, patience)
    }

    deinit { destroy() }

    public func create(_ overlay: Overlay) { state.withLock { $0.overlay = overlay } }

    public func load() {
        let isFollowing = state.withLock { $0.following != nil }
        guard !isFollowing else { return }
        let task = Task { [weak self, address, patience] in
            var isFirst = true
            while !Task.isCancelled {
                do {
                    guard let requests = self?.open() else { return }
                    try await WebSocketClient().connect(to: address) { [weak self] connection in
                        try await Self.follow(connection, requests) { [weak self] in self?.overlay?.post($0) }
                    }
                } catch {
                    if isFirst, !Task.isCancelled {
                        self?.overlay?.post(
                            .playerError(.playerConnectivity(level: .warning, reason: "no other screen: \(error)")))
                    }
                }
                isFirst = false
                try? await Task.sleep(for: patience)
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

    private func open() -> AsyncStream<OverlayMessage> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: OverlayMessage.self, bufferingPolicy: .bufferingNewest(Self.backlog))
        state.withLock { $0.outgoing = continuation }
        return stream
    }

    private static func follow(
        _ connection: WebSocketConnection, _ requests: AsyncStream<OverlayMessage>,
        _ post: @escaping @Sendable (OverlayMessage) -> Void
    ) async throws {
        let page = RemotePage(connection)
        try await page.say(OverlayEnvelope("bridge.ready", sequence: 0, epoch: 0))
        try await page.say(OverlayEnvelope("app.ready", sequence: 0, epoch: 0))
        try await withThrowingTaskGroup { group in
            group.addTask {
                for await request in requests {
                    if let envelope = request.request(sequence: 0, epoch: 0) { try await page.say(envelope) }
                }
            }
            defer { group.cancelAll() }
            try await connection.forEachMessage { message in
                guard case .text(let text) = message, let envelope = try? OverlayEnvelope(text: text) else { return }
                page.epoch.store(Int(envelope.epoch), ordering: .relaxed)
                if envelope.event == "bridge.keepalive" {
                    return try await page.say(OverlayEnvelope("app.keepalive", sequence: 0, epoch: 0))
                }
                if let report = try? OverlayMessage(report: envelope) { post(report) }
            }
        }
    }

    // MARK: To the other player

    private func ask(_ message: OverlayMessage) { state.withLock { _ = $0.outgoing?.yield(message) } }

    public func setTime(_ timecode: Int64) { ask(.bridgeTime(timecode)) }
    public func setState(_ state: OverlayPlayerState) { ask(.bridgeState(state)) }
    public func setSpeed(_ speed: Double) { ask(.bridgeSpeed(speed)) }
    public func setVolume(_ volume: Int) { ask(.bridgeVolume(volume)) }
    public func setMute(_ isMuted: Bool) { ask(.bridgeMute(isMuted)) }
    public func setVideoScale(_ scale: VideoScale) { ask(.bridgeVideoScale(scale)) }
    public func setControllerVisible(_ isVisible: Bool) { ask(.bridgeStage(isVisible ? .visible : .hidden)) }
    public func didSwipeStage(_ direction: OverlaySwipe) { ask(.bridgeStageSwipe(direction)) }
}

/// This end of a connection to another bridge. Numbers what is said.
private final class RemotePage: Sendable {
    private let connection: WebSocketConnection
    private let sequence = Atomic(0)
    let epoch = Atomic(0)

    init(_ connection: WebSocketConnection) { self.connection = connection }

    func say(_ envelope: OverlayEnvelope) async throws {
        var envelope = envelope
        envelope.sequence = Int64(sequence.add(1, ordering: .relaxed).newValue)
        envelope.epoch = Int64(epoch.load(ordering: .relaxed))
        try await connection.send(.text(envelope.text))
    }
}
