import FoundationEssentials
package import PCastCore
import SwiftProtobuf

/// The client's side of the signaling conversation, which may need several connections. It numbers requests and gives
/// exactly one result for each.
package struct ClientSignalingMachine: Machine {
    /// An event of the connection.
    package enum Input: Sendable {
        /// A WebSocket was opened.
        case connected
        /// The WebSocket was closed. All outstanding requests fail.
        case disconnected
        /// A WebSocket message arrived.
        case received(SignalingFrame)
    }

    /// An action for the caller, or an event.
    package enum Output: Hashable, Sendable {
        /// Send the frame.
        case send(SignalingFrame)
        /// The result of a request.
        case answered(SignalingRequestID, Result<SignalingResponse, SignalingFailure>)
        /// A notification of the platform arrived.
        case event(SignalingEvent)
        /// The round-trip time of a ping.
        case roundTripTime(TimeSpan)
        /// Nothing arrived for ``silenceLimit``: close the connection. Outstanding requests have failed.
        case unresponsive
    }

    /// The time after which a request without a response fails.
    package static let requestTimeout = TimeSpan.milliseconds(10_000)
    /// The interval between pings. Proxies close idle WebSockets: nginx does so after 60 s by default
    /// (`proxy_read_timeout`).
    package static let pingInterval = TimeSpan.milliseconds(25_000)
    /// The time without a message after which the platform is considered unresponsive.
    package static let silenceLimit = TimeSpan.milliseconds(60_000)
    /// The maximum number of outstanding requests. Further requests fail at once.
    package static let maximumOutstanding = 64

    /// The number of messages that were malformed or matched no request.
    package private(set) var malformedCount = 0

    private struct Outstanding {
        let id: SignalingRequestID
        let responseTypeName: String
        let deadline: Instant
    }

    private struct Connection {
        var lastReceivedAt: Instant
        var nextPing: Instant
    }

    private let form: SignalingFrame.Form
    private var connection: Connection?
    private var lastID: UInt64 = 0
    /// The outstanding requests in the order of their deadlines.
    private var outstanding: [Outstanding] = []
    private var outputs: [Output] = []

    /// Creates a conversation without a connection. Messages are sent in this form; both forms are received.
    package init(form: SignalingFrame.Form = .text) { self.form = form }

    /// Sends a request and returns its ID. The result arrives as ``Output/answered(_:_:)``.
    package mutating func request(_ request: SignalingRequest, at now: Instant) -> SignalingRequestID {
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

    /// Processes an event of the connection.
    package mutating func handle(_ input: Input, at now: Instant) {
        switch input {
        case .connected:
            fail(.disconnected)
            connection = Connection(lastReceivedAt: now, nextPing: now + Self.pingInterval)
        case .disconnected: disconnect()
        case .received(let frame):
            guard connection != nil else { return }
            connection?.lastReceivedAt = now
            receive(frame, at: now)
        }
    }

    /// Handles timeouts and sends pings that are due.
    package mutating func advance(to now: Instant) {
        while let first = outstanding.first, first.deadline <= now {
            outstanding.removeFirst()
            outputs.append(.answered(first.id, .failure(.timeout)))
        }
        guard let connection else { return }
        if now >= connection.lastReceivedAt + Self.silenceLimit {
            disconnect()
            outputs.append(.unresponsive)
        } else if now >= connection.nextPing {
            ping(at: now)
        }
    }

    /// Returns the next output; nil if there is none.
    package mutating func poll() -> Output? { outputs.isEmpty ? nil : outputs.removeFirst() }

    /// The time at which ``advance(to:)`` must be called; nil if nothing is scheduled.
    package var deadline: Instant? {
        let livenessDeadline = connection.map { min($0.nextPing, $0.lastReceivedAt + Self.silenceLimit) }
        return Instant.earlier(outstanding.first?.deadline, livenessDeadline)
    }
}

extension ClientSignalingMachine {
    /// Ends the connection.
    private mutating func disconnect() {
        connection = nil
        fail(.disconnected)
    }

    /// Fails all outstanding requests.
    private mutating func fail(_ failure: SignalingFailure) {
        outputs += outstanding.map { .answered($0.id, .failure(failure)) }
        outstanding = []
    }

    /// Sends a ping. Pings are numbered like requests, but only silence has a timeout.
    private mutating func ping(at now: Instant) {
        connection?.nextPing = now + Self.pingInterval
        lastID += 1
        let ping = MQPingPong.with { $0.originTimestamp = UInt64(bitPattern: now.nanoseconds) }
        send(ping, id: SignalingRequestID(number: lastID))
    }

    /// Sends a message in a request envelope.
    private mutating func send(_ message: any Message, id: SignalingRequestID) {
        let envelope = MQRequest.with {
            $0.requestID = id.wire
            $0.type = type(of: message).protoMessageName
            $0.payload = Data(serializing: message)
        }
        outputs.append(.send(SignalingFrame(envelope, form: form)))
    }

    /// Processes a received frame.
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

    /// Processes the response to a ping. A timestamp that no ping can have is malformed.
    private mutating func receive(_ pong: MQPingPong, at now: Instant) {
        let origin = Instant(nanoseconds: Int64(bitPattern: pong.originTimestamp))
        guard origin <= now, origin.nanoseconds >= now.nanoseconds &- Self.silenceLimit.nanoseconds else {
            malformedCount += 1
            return
        }
        outputs.append(.roundTripTime(now - origin))
    }

    /// Processes the response to a request.
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

    /// Returns the result in a response envelope.
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
