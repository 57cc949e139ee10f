import FoundationEssentials
package import PCastCore
import SwiftProtobuf

/// The platform's side of the signaling conversation over one WebSocket. It emits requests after the client has
/// authenticated, and ensures that each gets exactly one response.
///
/// A client may send `SetupStream` directly after `Authenticate`. It is emitted after the authentication has succeeded.
package struct ServerSignalingMachine: Machine {
    /// An event of the WebSocket, or a message of the platform.
    package enum Input: Sendable {
        /// A WebSocket message arrived.
        case received(SignalingFrame)
        /// A WebSocket message arrived that exceeds the client's rate limit. It is refused. If it is not a request, it
        /// counts as malformed.
        case receivedTooOften(SignalingFrame)
        /// A WebSocket ping or pong arrived (RFC 6455, section 5.5).
        case activity
        /// Send the response to a request of the same type. A late response is dropped.
        case respond(SignalingRequestID, SignalingResponse)
        /// Send a notification.
        case event(SignalingEvent)
        /// Send a notification that other clients receive, too.
        case sharedEvent(SharedSignalingEvent)
    }

    /// An action for the caller.
    package enum Output: Hashable, Sendable {
        /// Send the frame.
        case send(SignalingFrame)
        /// Process the request and respond with ``Input/respond(_:_:)``.
        case request(SignalingRequestID, SignalingRequest)
        /// The request had no response in time, and the status `timeout` was sent. Undo what was done for it.
        case expired(SignalingRequestID)
        /// Send a WebSocket ping.
        case ping
        /// Send the queued frames and close the WebSocket. It is the last output.
        case close(SignalingEndReason)
    }

    /// The timeouts of a conversation.
    package struct Timeouts: Sendable {
        /// See ``ServerSignalingMachine/requestTimeout``.
        package var request = ServerSignalingMachine.requestTimeout
        /// See ``ServerSignalingMachine/silenceLimit``.
        package var silence = ServerSignalingMachine.silenceLimit
        /// See ``ServerSignalingMachine/authenticationLimit``.
        package var authentication = ServerSignalingMachine.authenticationLimit
        /// The time to send queued frames after ``Output/close(_:)``, which the caller observes.
        package var closing = TimeSpan.seconds(1)

        /// Creates the default timeouts.
        package init() {}
    }

    /// The time after which a request without a response gets the status `timeout`.
    package static let requestTimeout = TimeSpan.milliseconds(10_000)
    /// The interval between WebSocket pings. Proxies close idle WebSockets: nginx does so after 60 s by default
    /// (`proxy_read_timeout`).
    package static let pingInterval = TimeSpan.milliseconds(25_000)
    /// The time without a message after which the client is considered unresponsive.
    package static let silenceLimit = TimeSpan.milliseconds(60_000)
    /// The time within which a client has to authenticate.
    package static let authenticationLimit = TimeSpan.milliseconds(30_000)
    /// The maximum number of outstanding requests. Further requests get the status `rate-limited`.
    package static let maximumOutstanding = 64
    /// The number of malformed messages after which the conversation ends.
    package static let maximumMalformed = 16

    /// The number of requests above the rate limit after which the conversation ends.
    package static let maximumExcess = 1_024
    /// The maximum size of a ping's payload in bytes: two numbers, and space for later versions.
    static let maximumPingSize = 64

    private var excessCount = 0

    /// The number of malformed messages.
    package private(set) var malformedCount = 0

    private enum Authentication {
        case none, pending, done
    }

    private struct Outstanding {
        let id: SignalingRequestID
        let wireID: String
        let request: SignalingRequest
        let deadline: Instant
        /// Whether the request waits for the result of an `Authenticate`.
        var isHeld: Bool
    }

    private let timeouts: Timeouts
    private var form = SignalingFrame.Form.text
    private var authentication = Authentication.none
    /// The time since which the client is not authenticated; nil while it is. A failed attempt does not restart it.
    private var unauthenticatedSince: Instant?
    private var lastReceivedAt: Instant
    private var nextPing: Instant
    private var isClosed = false
    private var lastID: UInt64 = 0
    /// The outstanding requests in the order of their deadlines.
    private var outstanding: [Outstanding] = []
    private var outputs: [Output] = []

    /// Creates the conversation of a WebSocket that was opened at `now`.
    package init(_ timeouts: Timeouts = Timeouts(), at now: Instant) {
        self.timeouts = timeouts
        unauthenticatedSince = now
        lastReceivedAt = now
        nextPing = now + Self.pingInterval
    }

    /// Whether the client has authenticated.
    package var isAuthenticated: Bool {
        if case .done = authentication { true } else { false }
    }

    /// Processes an event of the WebSocket, or sends a message of the platform. It has no effect after the end.
    package mutating func handle(_ input: Input, at now: Instant) {
        guard !isClosed else { return }
        switch input {
        case .received(let frame):
            lastReceivedAt = now
            form = frame.form
            receive(frame, at: now)
        case .receivedTooOften(let frame):
            lastReceivedAt = now
            form = frame.form
            refuse(frame)
        case .activity: lastReceivedAt = now
        case .respond(let id, let response): respond(to: id, response, at: now)
        case .event(let event): outputs.append(.send(SignalingFrame(event, form: form)))
        case .sharedEvent(let event): outputs.append(.send(event.frame(form)))
        }
    }

    /// Handles timeouts and requests pings that are due.
    package mutating func advance(to now: Instant) {
        guard !isClosed else { return }
        while !isClosed, let first = outstanding.first, first.deadline <= now {
            if !first.isHeld { outputs.append(.expired(first.id)) }
            respond(to: first.id, first.request.response(.timeout), at: now)
        }
        if now >= lastReceivedAt + timeouts.silence {
            close(.unresponsive)
        } else if let since = unauthenticatedSince, now >= since + timeouts.authentication {
            close(.unauthenticated)
        } else if now >= nextPing {
            nextPing = now + Self.pingInterval
            outputs.append(.ping)
        }
    }

    /// Returns the next output; nil if there is none.
    package mutating func poll() -> Output? {
        guard !outputs.isEmpty else { return nil }
        // Thousands of idle conversations must not retain memory for earlier outputs.
        defer { if outputs.isEmpty { outputs = [] } }
        return outputs.removeFirst()
    }

    /// The time at which ``advance(to:)`` must be called; nil after the end.
    package var deadline: Instant? {
        guard !isClosed else { return nil }
        var deadline = min(nextPing, lastReceivedAt + timeouts.silence)
        if let since = unauthenticatedSince { deadline = min(deadline, since + timeouts.authentication) }
        return Instant.earlier(deadline, outstanding.first?.deadline)
    }
}

// MARK: - From the client

extension ServerSignalingMachine {
    /// Processes a received frame.
    private mutating func receive(_ frame: SignalingFrame, at now: Instant) {
        guard let envelope = try? frame.request(), (1...64).contains(envelope.requestID.utf8.count) else {
            countMalformed()
            return
        }
        let wireID = envelope.requestID
        if envelope.type == MQPingPong.protoMessageName {
            receivePing(envelope)
            return
        }
        do {
            guard let request = try SignalingRequest(type: envelope.type, payload: envelope.payload) else {
                sendError("unknown type", wireID: wireID)
                return
            }
            receive(request, wireID: wireID, at: now)
        } catch {
            sendError("malformed payload", wireID: wireID)
            countMalformed()
        }
    }

    /// Refuses a frame above the rate limit. The conversation ends after a number of such frames.
    private mutating func refuse(_ frame: SignalingFrame) {
        guard let envelope = try? frame.request(), (1...64).contains(envelope.requestID.utf8.count) else {
            countMalformed()
            return
        }
        if let request = try? SignalingRequest(type: envelope.type, payload: envelope.payload) {
            // These responses have their own bound, because outstanding requests do not bound them.
            send(request.response(.rateLimited).message, wireID: envelope.requestID)
            countExcess()
        } else {
            sendError("too often", wireID: envelope.requestID)
            countMalformed()
        }
    }

    /// Responds to a ping with the same message.
    private mutating func receivePing(_ envelope: MQRequest) {
        if envelope.payload.count <= Self.maximumPingSize, let ping = try? MQPingPong(serializedBytes: envelope.payload)
        {
            send(ping, wireID: envelope.requestID)
        } else {
            sendError("malformed payload", wireID: envelope.requestID)
            countMalformed()
        }
    }

    /// Processes a request, or refuses it if its ID is in use or there are too many.
    private mutating func receive(_ request: SignalingRequest, wireID: String, at now: Instant) {
        if outstanding.contains(where: { $0.wireID == wireID }) {
            sendError("the request ID is in use", wireID: wireID)
        } else if outstanding.count == Self.maximumOutstanding {
            send(request.response(.rateLimited).message, wireID: wireID)
        } else {
            admit(request, wireID: wireID, at: now)
        }
    }

    /// Emits a request if the client may send it. A request during the authentication waits for it.
    private mutating func admit(_ request: SignalingRequest, wireID: String, at now: Instant) {
        var isHeld = false
        switch (request, authentication) {
        case (.authenticate, .pending):
            send(request.response(.conflict).message, wireID: wireID)
            return
        case (.authenticate, _): authentication = .pending
        case (_, .none):
            send(request.response(.unauthorized).message, wireID: wireID)
            return
        case (_, .pending): isHeld = true
        case (_, .done): break
        }
        lastID += 1
        let id = SignalingRequestID(number: lastID)
        outstanding.append(
            Outstanding(
                id: id, wireID: wireID, request: request, deadline: now + timeouts.request, isHeld: isHeld))
        if !isHeld { outputs.append(.request(id, request)) }
    }

    /// Counts a request above the rate limit.
    private mutating func countExcess() {
        excessCount += 1
        if excessCount >= Self.maximumExcess { close(.malformed) }
    }

    /// Counts a malformed message.
    private mutating func countMalformed() {
        malformedCount += 1
        if malformedCount >= Self.maximumMalformed { close(.malformed) }
    }
}

// MARK: - To the client

extension ServerSignalingMachine {
    /// Sends the response to an outstanding request.
    private mutating func respond(to id: SignalingRequestID, _ response: SignalingResponse, at now: Instant) {
        guard let index = outstanding.firstIndex(where: { $0.id == id }) else { return }
        let answered = outstanding.remove(at: index)
        if outstanding.isEmpty { outstanding = [] }
        precondition(answered.request.responseTypeName == response.typeName, "the response is for another request")
        send(response.message, wireID: answered.wireID)
        switch response {
        case .authenticate: finishAuthentication(isAccepted: response.status == .ok, at: now)
        case .bye: close(.bye)
        default: break
        }
    }

    /// Processes the result of the authentication. Waiting requests are emitted or refused.
    private mutating func finishAuthentication(isAccepted: Bool, at now: Instant) {
        authentication = isAccepted ? .done : .none
        unauthenticatedSince = isAccepted ? nil : unauthenticatedSince ?? now
        let held = outstanding.filter(\.isHeld)
        if isAccepted {
            for index in outstanding.indices { outstanding[index].isHeld = false }
            outputs += held.map { .request($0.id, $0.request) }
        } else {
            outstanding.removeAll(where: \.isHeld)
            for refused in held { send(refused.request.response(.unauthorized).message, wireID: refused.wireID) }
        }
    }

    /// Sends an `mq.Error`.
    private mutating func sendError(_ reason: String, wireID: String) {
        send(MQError.with { $0.reason = reason }, wireID: wireID)
    }

    /// Sends a message in a response envelope.
    private mutating func send(_ message: any Message, wireID: String) {
        let envelope = MQResponse(message, requestID: wireID, as: .response)
        outputs.append(.send(SignalingFrame(envelope, form: form)))
    }

    /// Ends the conversation.
    private mutating func close(_ end: SignalingEndReason) {
        isClosed = true
        outstanding = []
        outputs.append(.close(end))
    }
}

extension MQResponse {
    /// Creates the envelope of a message.
    init(_ message: any Message, requestID: String, as kind: MessageType) {
        self.init()
        messageType = kind
        self.requestID = requestID
        type = Swift.type(of: message).protoMessageName
        payload = Data(serializing: message)
    }
}

/// The reason for which the platform ends a conversation.
package enum SignalingEndReason: Hashable, Sendable {
    /// The client sent `Bye` and received its response.
    case bye
    /// Nothing arrived for ``ServerSignalingMachine/silenceLimit``.
    case unresponsive
    /// The client did not authenticate within ``ServerSignalingMachine/authenticationLimit``.
    case unauthenticated
    /// The client sent ``ServerSignalingMachine/maximumMalformed`` malformed messages, or
    /// ``ServerSignalingMachine/maximumExcess`` requests above its rate limit.
    case malformed
}
