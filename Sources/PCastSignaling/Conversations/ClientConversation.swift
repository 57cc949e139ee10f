import FoundationEssentials
public import PCastCore
import SwiftProtobuf

/// The client's half of the conversation, across as many connections as it takes: numbers requests, and answers each
/// of them exactly once.
public struct ClientConversation: Machine {
    public enum Input: Sendable {
        /// A WebSocket is open.
        case connected
        /// It is not any more: whatever waits for a response fails.
        case disconnected
        case received(SignalingFrame)
    }

    public enum Output: Hashable, Sendable {
        case send(SignalingFrame)
        /// What became of a request.
        case answered(SignalingRequestID, Result<SignalingResponse, SignalingFailure>)
        case event(SignalingEvent)
        /// Measured by each ping.
        case roundTripTime(TimeSpan)
        /// The platform said nothing for ``silenceLimit``: close the connection. Requests have failed already.
        case unresponsive
    }

    /// A response later than this counts for nothing.
    public static let requestTimeout = TimeSpan.milliseconds(10_000)
    /// Proxies cut WebSockets that are silent for a minute (OPS4).
    public static let pingInterval = TimeSpan.milliseconds(25_000)
    public static let silenceLimit = TimeSpan.milliseconds(60_000)
    /// Requests that may wait for their responses at one time; more fail at once.
    public static let maximumOutstanding = 64

    /// Messages that could not be read, or that answer nothing that was asked.
    public private(set) var malformedCount = 0

    private struct Outstanding {
        let id: SignalingRequestID
        let responseTypeName: String
        let deadline: Instant
    }

    private struct Connection {
        var lastHeard: Instant
        var nextPing: Instant
    }

    private let form: SignalingFrame.Form
    private var connection: Connection?
    private var lastID: UInt64 = 0
    /// In the order of their deadlines.
    private var outstanding: [Outstanding] = []
    private var outputs: [Output] = []

    /// - Parameter form: How messages are written; whatever comes is read.
    public init(form: SignalingFrame.Form = .text) { self.form = form }

    /// Sends a request; its end comes as ``Output/answered(_:_:)``.
    public mutating func request(_ request: SignalingRequest, at now: Instant) -> SignalingRequestID {
        lastID += 1
        let id = SignalingRequestID(number: lastID)
        if connection == nil {
            outputs.append(.answered(id, .failure(.disconnected)))
        } else if outstanding.count == Self.maximumOutstanding {
            outputs.append(.answered(id, .failure(.tooManyOutstanding)))
        } else {
            outstanding.append(
                Outstanding(
                    id: id, responseTypeName: request.responseTypeName, deadline: now + Self.requestTimeout))
            send(request.message, id: id)
        }
        return id
    }

    public mutating func handle(_ input: Input, at now: Instant) {
        switch input {
        case .connected:
            fail(.disconnected)
            connection = Connection(lastHeard: now, nextPing: now + Self.pingInterval)
        case .disconnected: disconnect()
        case .received(let frame):
            guard connection != nil else { return }
            connection?.lastHeard = now
            receive(frame, at: now)
        }
    }

    public mutating func advance(to now: Instant) {
        while let first = outstanding.first, first.deadline <= now {
            outstanding.removeFirst()
            outputs.append(.answered(first.id, .failure(.timeout)))
        }
        guard let connection else { return }
        if now >= connection.lastHeard + Self.silenceLimit {
            disconnect()
            outputs.append(.unresponsive)
        } else if now >= connection.nextPing {
            ping(at: now)
        }
    }

    public mutating func poll() -> Output? { outputs.isEmpty ? nil : outputs.removeFirst() }

    public var deadline: Instant? {
        let life = connection.map { min($0.nextPing, $0.lastHeard + Self.silenceLimit) }
        return Instant.earlier(outstanding.first?.deadline, life)
    }
}

extension ClientConversation {
    private mutating func disconnect() {
        connection = nil
        fail(.disconnected)
    }

    private mutating func fail(_ failure: SignalingFailure) {
        outputs += outstanding.map { .answered($0.id, .failure(failure)) }
        outstanding = []
    }

    /// Pings are numbered like requests but not waited for: silence is what counts.
    private mutating func ping(at now: Instant) {
        connection?.nextPing = now + Self.pingInterval
        lastID += 1
        let ping = MQPingPong.with { $0.originTimestamp = UInt64(bitPattern: now.nanoseconds) }
        send(ping, id: SignalingRequestID(number: lastID))
    }

    private mutating func send(_ message: any Message, id: SignalingRequestID) {
        let envelope = MQRequest.with {
            $0.requestID = id.wire
            $0.type = type(of: message).protoMessageName
            $0.payload = Data(serializing: message)
        }
        outputs.append(.send(SignalingFrame(envelope, form: form)))
    }

    private mutating func receive(_ frame: SignalingFrame, at now: Instant) {
        do {
            let envelope = try frame.response()
            if let event = try SignalingEvent(type: envelope.type, payload: envelope.payload) {
                outputs.append(.event(event))
            } else if envelope.type == MQPingPong.protoMessageName {
                receive(try MQPingPong(serializedBytes: envelope.payload), at: now)
            } else {
                receiveResponse(envelope)
            }
        } catch {
            malformedCount += 1
        }
    }

    private mutating func receive(_ pong: MQPingPong, at now: Instant) {
        let origin = Instant(nanoseconds: Int64(bitPattern: pong.originTimestamp))
        guard origin <= now, origin.nanoseconds >= now.nanoseconds &- Self.silenceLimit.nanoseconds else {
            malformedCount += 1
            return
        }
        outputs.append(.roundTripTime(now - origin))
    }

    private mutating func receiveResponse(_ envelope: MQResponse) {
        guard let id = SignalingRequestID(wire: envelope.requestID),
            let index = outstanding.firstIndex(where: { $0.id == id })
        else {
            malformedCount += 1
            return
        }
        let result = result(of: envelope, expecting: outstanding.remove(at: index).responseTypeName)
        if result == .failure(.malformedResponse) { malformedCount += 1 }
        outputs.append(.answered(id, result))
    }

    private func result(
        of envelope: MQResponse, expecting typeName: String
    ) -> Result<SignalingResponse, SignalingFailure> {
        if envelope.type == MQError.protoMessageName, let error = try? MQError(serializedBytes: envelope.payload) {
            return .failure(.refused(reason: error.reason))
        }
        guard envelope.type == typeName,
            let response = try? SignalingResponse(type: envelope.type, payload: envelope.payload)
        else { return .failure(.malformedResponse) }
        return .success(response)
    }
}
