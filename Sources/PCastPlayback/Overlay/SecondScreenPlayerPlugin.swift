import PCastJSON
public import PCastOverlay
import PCastWeb
import Synchronization

/// The adapter of a player on another device (Ease Live's `SecondScreenPlayerPlugin`). It connects to the bridge of
/// another overlay, posts that player's reports here, and forwards this overlay's requests there.
public final class SecondScreenPlayerPlugin: OverlayPlayerPlugin {
    private struct State: Sendable {
        weak var overlay: Overlay?
        var following: Task<Void, Never>?
        var outgoing: AsyncStream<BridgeMessage>.Continuation?
    }

    /// A message to the other bridge.
    fileprivate enum BridgeMessage: Sendable {
        /// A request of this overlay.
        case request(OverlayMessage)
        /// The response to a keep-alive message.
        case alive
    }

    /// The maximum number of requests that wait. The oldest are dropped.
    private static let backlog = 64

    private let address: String
    private let timeout: Duration
    private let state = Mutex(State())

    /// Creates an adapter that is not connected. `address` is the WebSocket of the other bridge,
    /// `ws://HOST:PORT/bridge/PROGRAM?token=TOKEN`; without the token, requests are rejected. `timeout` is the time
    /// before a reconnect.
    public init(_ address: String, timeout: Duration = .seconds(1)) {
        (self.address, self.timeout) = (address, timeout)
    }

    deinit { destroy() }

    /// Stores the overlay.
    public func create(_ overlay: Overlay) { state.withLock { $0.overlay = overlay } }

    /// Begins to connect, with reconnects.
    public func load() {
        let isFollowing = state.withLock { $0.following != nil }
        guard !isFollowing else { return }
        let task = Task { [weak self, address, timeout] in
            var isMissed = false
            while !Task.isCancelled {
                let page = RemotePage()
                var reason = "it was disconnected"
                do {
                    guard let messages = self?.open() else { return }
                    try await WebSocketClient().connect(to: address) { [weak self] connection in
                        try await page.follow(connection, messages) { [weak self] in self?.handle($0) }
                    }
                } catch {
                    reason = "\(error)"
                }
                // Each loss of the connection is reported once.
                if !isMissed || page.hasReceivedMessage, !Task.isCancelled {
                    self?.reportError("no other screen: \(reason)")
                }
                isMissed = true
                try? await Task.sleep(for: timeout)
            }
        }
        state.withLock { $0.following = task }
    }

    /// Disconnects.
    public func destroy() {
        let task = state.withLock { state in
            defer { state.following = nil }
            state.outgoing?.finish()
            return state.following
        }
        task?.cancel()
    }

    private var overlay: Overlay? { state.withLock { $0.overlay } }

    /// Returns a new stream of the messages to send.
    private func open() -> AsyncStream<BridgeMessage> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: BridgeMessage.self, bufferingPolicy: .bufferingNewest(Self.backlog))
        state.withLock { $0.outgoing = continuation }
        return stream
    }

    /// Handles a message of the other bridge.
    private func handle(_ envelope: OverlayEnvelope) {
        switch envelope.event {
        case "bridge.keepalive": send(.alive)
        case "bridge.error":
            reportError("the other screen: \(envelope.metadata["reason"]?.string ?? "the request failed")")
        default: if let report = try? OverlayMessage(report: envelope) { overlay?.post(report) }
        }
    }

    /// Posts a warning.
    private func reportError(_ reason: String) {
        overlay?.post(.playerError(.playerConnectivity(level: .warning, reason: reason)))
    }

    // MARK: Requests

    /// Sends a message.
    private func send(_ message: BridgeMessage) { state.withLock { _ = $0.outgoing?.yield(message) } }

    /// Sends a request.
    private func ask(_ message: OverlayMessage) { send(.request(message)) }

    /// Requests a seek to the frame of a time in milliseconds since 1970.
    public func setTime(_ timecode: Int64) { ask(.bridgeTime(timecode)) }
    /// Requests a state of playback.
    public func setState(_ state: OverlayPlayerState) { ask(.bridgeState(state)) }
    /// Requests a playback rate, as a factor.
    public func setSpeed(_ speed: Double) { ask(.bridgeSpeed(speed)) }
    /// Requests a volume, 0 to 100.
    public func setVolume(_ volume: Int) { ask(.bridgeVolume(volume)) }
    /// Requests to mute or unmute the audio.
    public func setMute(_ isMuted: Bool) { ask(.bridgeMute(isMuted)) }
    /// Requests a scale of the video.
    public func setVideoScale(_ scale: VideoScale) { ask(.bridgeVideoScale(scale)) }
    /// Requests to show or hide the player's controls.
    public func setControllerVisible(_ isVisible: Bool) { ask(.bridgeStage(isVisible ? .visible : .hidden)) }
    /// Forwards a swipe.
    public func didSwipeStage(_ direction: OverlaySwipe) { ask(.bridgeStageSwipe(direction)) }
}

/// The page's end of a connection to another bridge.
private final class RemotePage: Sendable {
    /// The epoch of the last received message.
    private let epoch = Atomic<Int64>(0)
    private let hasMessage = Atomic(false)

    /// Whether any message was received.
    var hasReceivedMessage: Bool { hasMessage.load(ordering: .relaxed) }

    /// Sends and receives messages until the connection ends.
    func follow(
        _ connection: WebSocketConnection, _ messages: AsyncStream<SecondScreenPlayerPlugin.BridgeMessage>,
        _ handle: @escaping @Sendable (OverlayEnvelope) -> Void
    ) async throws {
        try await withThrowingTaskGroup { group in
            group.addTask { try await self.serve(connection, messages) }
            defer { group.cancelAll() }
            try await connection.forEachMessage { message in
                guard case .text(let text) = message, let envelope = try? OverlayEnvelope(text: text) else { return }
                self.hasMessage.store(true, ordering: .relaxed)
                self.epoch.store(envelope.epoch, ordering: .relaxed)
                handle(envelope)
            }
        }
    }

    /// Sends messages in the order of their sequence numbers. The other bridge ignores a message after one with a
    /// higher number, so only this method sends.
    private func serve(
        _ connection: WebSocketConnection, _ messages: AsyncStream<SecondScreenPlayerPlugin.BridgeMessage>
    ) async throws {
        var sequence: Int64 = 0
        func send(_ envelope: OverlayEnvelope?) async throws {
            guard var envelope else { return }
            sequence += 1
            (envelope.sequence, envelope.epoch) = (sequence, epoch.load(ordering: .relaxed))
            try await connection.send(.text(envelope.text))
        }
        try await send(OverlayEnvelope("bridge.ready", sequence: 0, epoch: 0))
        try await send(OverlayEnvelope("app.ready", sequence: 0, epoch: 0))
        for await message in messages {
            switch message {
            case .request(let message): try await send(message.request(sequence: 0, epoch: 0))
            case .alive: try await send(OverlayEnvelope("app.keepalive", sequence: 0, epoch: 0))
            }
        }
    }
}
