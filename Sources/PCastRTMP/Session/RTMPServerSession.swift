package import PCastCore

/// The server's side of an RTMP connection with a publisher (RTMP 1.0, Enhanced RTMP v2), without I/O.
///
/// The driver passes the bytes of the connection to ``receive(_:at:)``. After each call that may change the session, it
/// calls ``poll()`` until that returns nil, and sends what ``takeOutput()`` returns. When ``deadline`` is reached, it
/// calls ``advance(to:)``. While ``acceptsInput`` is false, it does not read the connection.
///
/// All memory that a client can occupy is limited by the configuration. A violation of a limit or of the protocol
/// closes the connection with an error.
package struct RTMPServerSession: Sendable {
    enum Phase: Hashable, Sendable {
        /// The handshake, or the time before `connect`.
        case connecting
        /// Connected, without a stream.
        case connected
        /// The driver decides about a stream.
        case deciding(messageStream: UInt32)
        /// A stream is published.
        case publishing(messageStream: UInt32)
        case closed
    }

    let configuration: RTMPServerConfiguration
    var phase = Phase.connecting
    /// The properties of the client; nil before `connect`.
    package internal(set) var client: RTMPClientInformation?
    private var handshake: RTMPHandshake
    private var reader: RTMPChunkReader
    var writer = RTMPChunkWriter()
    var demuxer: RTMPMediaDemuxer
    /// The number of message streams that were created.
    var streamCount: UInt32 = 0
    var counters = RTMPServerStatistics()
    /// The last metadata of the published stream; nil if there is none.
    var metadata: RTMPStreamMetadata?
    /// Whether malformed metadata was reported.
    var hasReportedMalformedMetadata = false

    private var events: [RTMPServerEvent] = []
    /// The number of events that were returned.
    private var eventIndex = 0
    var output: [UInt8] = []
    /// The input that arrived while the driver decides about a stream.
    private var pendingInput: [UInt8] = []

    /// The time from which the setup timeout counts.
    private var setupStart: Instant
    private var lastReceived: Instant
    /// The number of received bytes after which the client expects an acknowledgement.
    var acknowledgementWindow: UInt64 = 2_500_000
    private var acknowledgedBytes: UInt64 = 0

    /// The maximum number of message streams that a client may create.
    static let maximumStreamCount: UInt32 = 64

    /// Creates a session for a new connection.
    ///
    /// - Parameters:
    ///   - configuration: The configuration.
    ///   - seed: A number that differs between connections.
    ///   - now: The current time.
    package init(configuration: RTMPServerConfiguration = RTMPServerConfiguration(), seed: UInt64, at now: Instant) {
        self.configuration = configuration
        handshake = RTMPHandshake(seed: seed)
        reader = RTMPChunkReader(limits: configuration.limits)
        demuxer = Self.demuxer(configuration)
        (setupStart, lastReceived) = (now, now)
    }

    static func demuxer(_ configuration: RTMPServerConfiguration) -> RTMPMediaDemuxer {
        RTMPMediaDemuxer(codecs: Set(configuration.videoCodecs + configuration.audioCodecs))
    }

    // MARK: Properties

    /// Whether the connection ends. Further input is ignored.
    package var isClosed: Bool { phase == .closed }

    /// Whether a stream is published.
    package var isPublishing: Bool { publishedStream != nil }

    /// Whether the driver should read the connection: false while it decides about a stream.
    package var acceptsInput: Bool { !isClosed && !isDeciding && pendingInput.isEmpty }

    /// The counters of the connection.
    package var statistics: RTMPServerStatistics {
        var counters = counters
        counters.droppedFrames = demuxer.droppedCount
        return counters
    }

    var isDeciding: Bool {
        if case .deciding = phase { return true }
        return false
    }

    /// The message stream of the published stream; nil if there is none.
    var publishedStream: UInt32? {
        if case .publishing(let stream) = phase { return stream }
        return nil
    }

    /// The time at which the driver calls ``advance(to:)``; nil if the session does not wait.
    package var deadline: Instant? {
        switch phase {
        case .connecting, .connected: setupStart + configuration.setupTimeout
        case .publishing: lastReceived + configuration.silenceTimeout
        case .deciding, .closed: nil
        }
    }

    // MARK: Input

    /// Processes bytes of the client.
    package mutating func receive(_ bytes: Span<UInt8>, at now: Instant) {
        guard !isClosed else { return }
        lastReceived = now
        counters.receivedBytes += UInt64(bytes.count)
        if isDeciding || !pendingInput.isEmpty {
            keep(bytes)
        } else {
            process(bytes, at: now)
        }
        acknowledge()
    }

    /// Closes the connection if the client has not published in time, or a publisher is silent.
    package mutating func advance(to now: Instant) {
        guard let deadline, now >= deadline else { return }
        if isPublishing {
            fail(.silent(seconds: Int(configuration.silenceTimeout.seconds)))
        } else {
            fail(.setupTimeout(seconds: Int(configuration.setupTimeout.seconds)))
        }
    }

    /// Ends the session because the client has closed the connection.
    package mutating func inputEnded() {
        guard !isClosed else { return }
        endStream()
        finish(nil)
    }

    private mutating func keep(_ bytes: Span<UInt8>) {
        guard pendingInput.count + bytes.count <= configuration.maximumPendingInput else {
            return fail(.tooManyPendingBytes(maximum: configuration.maximumPendingInput))
        }
        pendingInput.append(contentsOf: bytes)
    }

    private mutating func process(_ bytes: Span<UInt8>, at now: Instant) {
        var position = 0
        do throws(RTMPError) {
            if !handshake.isComplete {
                try handshake.read(bytes, from: &position, into: &output)
                guard handshake.isComplete else { return }
            }
            while !isClosed, !isDeciding, let message = try reader.next(bytes, from: &position) {
                counters.messages += 1
                try handle(message, at: now)
                guard output.count <= configuration.maximumOutput else {
                    throw .outputNotRead(maximum: configuration.maximumOutput)
                }
            }
        } catch {
            return fail(error)
        }
        if isDeciding, position < bytes.count { keep(bytes.extracting(position..<bytes.count)) }
    }

    /// Reports the number of received bytes when the client expects it (RTMP 1.0, section 5.4.3).
    private mutating func acknowledge() {
        guard !isClosed, phase != .connecting, counters.receivedBytes - acknowledgedBytes >= acknowledgementWindow
        else { return }
        acknowledgedBytes = counters.receivedBytes
        sendControl(.acknowledgement, UInt32(truncatingIfNeeded: acknowledgedBytes))
    }

    // MARK: Output

    /// Returns the next event; nil if there is none.
    package mutating func poll() -> RTMPServerEvent? {
        guard eventIndex < events.count else { return nil }
        let event = events[eventIndex]
        eventIndex += 1
        if eventIndex == events.count {
            events.removeAll(keepingCapacity: events.capacity <= 64)
            eventIndex = 0
        }
        return event
    }

    /// Returns the bytes to send. The driver calls it only when the connection can be written, so that the limit of the
    /// output holds.
    package mutating func takeOutput() -> [UInt8] {
        defer { output = [] }
        return output
    }

    mutating func emit(_ event: RTMPServerEvent) { events.append(event) }

    // MARK: Decisions of the driver

    /// Accepts the stream of the last ``RTMPServerEvent/publishRequested(_:)``. Ignored if no stream waits.
    package mutating func acceptPublishing(at now: Instant) {
        guard case .deciding(let stream) = phase else { return }
        phase = .publishing(messageStream: stream)
        lastReceived = now
        demuxer = Self.demuxer(configuration)
        metadata = nil
        sendStreamBegin(stream)
        send(.publishing, stream: stream)
        let input = pendingInput
        pendingInput = []
        process(input.span, at: now)
    }

    /// Closes the connection, also to reject a stream.
    ///
    /// - Parameter status: The status that the client receives before, such as `RTMPStatus.badName`; nil for none.
    package mutating func close(_ status: RTMPStatus?) {
        guard !isClosed else { return }
        if let status { send(status) }
        endStream()
        finish(nil)
    }

    /// Sends a status to the publisher, such as a warning about its settings. Ignored before `connect`.
    package mutating func send(_ status: RTMPStatus) {
        switch phase {
        case .connecting, .closed: break
        case .connected: send(status, stream: 0)
        case .deciding(let stream), .publishing(let stream): send(status, stream: stream)
        }
    }

    /// Asks the client to connect again, here or elsewhere, at its next key frame (Enhanced RTMP v2, "Reconnect
    /// Request"). The session continues until the client closes it.
    ///
    /// - Parameters:
    ///   - address: The address to connect to (`tcUrl`), absolute or relative to the current one; nil for the current
    ///     one.
    ///   - description: The reason for the client.
    /// - Returns: False if the client did not announce that it supports this; it then receives nothing.
    package mutating func requestReconnect(to address: String?, description: String) -> Bool {
        guard let client, client.capabilities.contains(.reconnect), !isClosed else { return false }
        var object = RTMPStatus(.status, "NetConnection.Connect.ReconnectRequest", description).object
        if let address { object.properties.append(.init(name: "tcUrl", value: .string(address))) }
        send(RTMPCommand("onStatus", [.null, .object(object)]), stream: 0)
        return true
    }

    // MARK: Transitions

    /// Ends the published stream, if there is one.
    mutating func endStream() {
        guard isPublishing else { return }
        phase = .connected
        emit(.unpublished)
    }

    /// Restarts the setup timeout, because the client has ended its stream and may publish another one.
    mutating func restartSetup(at now: Instant) { setupStart = now }

    /// Closes the connection because of the client.
    private mutating func fail(_ error: RTMPError) {
        if output.count <= configuration.maximumOutput {
            send(RTMPStatus(.error, "NetConnection.Connect.Closed", "The connection was closed: \(error)."))
        }
        endStream()
        finish(error)
    }

    private mutating func finish(_ error: RTMPError?) {
        phase = .closed
        pendingInput = []
        reader = RTMPChunkReader()
        emit(.closed(error))
    }
}
