import FoundationEssentials
public import PCastCore
import SwiftProtobuf

/// The platform's half of the conversation over one WebSocket: hands out requests once their sender has authenticated,
/// and sees to it that each is answered exactly once.
///
/// A client may send `SetupStream` right behind `Authenticate`; it is handed out when that was answered with `ok`.
public struct ServerConversation: Machine {
    public enum Input: Sendable {
        case received(SignalingFrame)
        /// The same of a frame that came too soon after others: it is refused, and counts as one that cannot be read.
        case receivedTooOften(SignalingFrame)
        /// A WebSocket ping or pong came (RFC 6455, section 5.5).
        case heard
        /// The answer to a request, of the same name. One that comes too late is dropped.
        case respond(SignalingRequestID, SignalingResponse)
        case event(SignalingEvent)
    }

    public enum Output: Hashable, Sendable {
        case send(SignalingFrame)
        /// To be answered with ``Input/respond(_:_:)``.
        case request(SignalingRequestID, SignalingRequest)
        /// A request was answered `timeout` because nobody else did; undo what is being done for it.
        case expired(SignalingRequestID)
        /// Send a WebSocket ping.
        case ping
        /// Send what is to be sent, and close the WebSocket. The last output.
        case close(ConversationEnd)
    }

    /// A request that is not answered in this time is answered `timeout`.
    public static let requestTimeout = TimeSpan.milliseconds(10_000)
    /// Proxies cut WebSockets that are silent for a minute (OPS4).
    public static let pingInterval = TimeSpan.milliseconds(25_000)
    public static let silenceLimit = TimeSpan.milliseconds(60_000)
    /// A client that has no session after this time is sent away.
    public static let authenticationLimit = TimeSpan.milliseconds(30_000)
    /// Requests that may wait for their answers at one time; more are answered `rate-limited`.
    public static let maximumOutstanding = 64
    /// Messages that cannot be read, until the conversation ends.
    public static let maximumMalformed = 16

    /// Requests that come too soon after others, until the conversation ends.
    public static let maximumExcess = 1_024
    /// Bytes of a ping's payload: two numbers, and what later versions may add.
    static let maximumPingSize = 64

    private var excessCount = 0

    /// Messages that could not be read.
    public private(set) var malformedCount = 0

    private enum Authentication {
        case none, pending, done
    }

    private struct Outstanding {
        let id: SignalingRequestID
        let wireID: String
        let request: SignalingRequest
        let deadline: Instant
        /// It waits for the answer to an `Authenticate`.
        var isHeld: Bool
    }

    private var form = SignalingFrame.Form.text
    private var authentication = Authentication.none
    /// Since when there is no session: a failed attempt does not begin that time anew. Nil while there is one.
    private var unauthenticatedSince: Instant?
    private var lastHeard: Instant
    private var nextPing: Instant
    private var isClosed = false
    private var lastID: UInt64 = 0
    /// In the order of their deadlines.
    private var outstanding: [Outstanding] = []
    private var outputs: [Output] = []

    /// A WebSocket was opened `now`.
    public init(at now: Instant) {
        unauthenticatedSince = now
        lastHeard = now
        nextPing = now + Self.pingInterval
    }

    /// Whether the client has a session.
    public var isAuthenticated: Bool {
        if case .done = authentication { true } else { false }
    }

    public mutating func handle(_ input: Input, at now: Instant) {
        guard !isClosed else { return }
        switch input {
        case .received(let frame):
            lastHeard = now
            form = frame.form
            receive(frame, at: now)
        case .receivedTooOften(let frame):
            lastHeard = now
            form = frame.form
            refuse(frame)
        case .heard: lastHeard = now
        case .respond(let id, let response): respond(to: id, response, at: now)
        case .event(let event): send(event.message, wireID: "", as: .event)
        }
    }

    public mutating func advance(to now: Instant) {
        guard !isClosed else { return }
        while !isClosed, let first = outstanding.first, first.deadline <= now {
            if !first.isHeld { outputs.append(.expired(first.id)) }
            respond(to: first.id, first.request.response(.timeout), at: now)
        }
        if now >= lastHeard + Self.silenceLimit {
            close(.unresponsive)
        } else if let since = unauthenticatedSince, now >= since + Self.authenticationLimit {
            close(.unauthenticated)
        } else if now >= nextPing {
            nextPing = now + Self.pingInterval
            outputs.append(.ping)
        }
    }

    public mutating func poll() -> Output? {
        guard !outputs.isEmpty else { return nil }
        // Thousands of quiet conversations keep no room for what they once said.
        defer { if outputs.isEmpty { outputs = [] } }
        return outputs.removeFirst()
    }

    public var deadline: Instant? {
        guard !isClosed else { return nil }
        var deadline = min(nextPing, lastHeard + Self.silenceLimit)
        if let since = unauthenticatedSince { deadline = min(deadline, since + Self.authenticationLimit) }
        return Instant.earlier(deadline, outstanding.first?.deadline)
    }
}

// MARK: - From the client

extension ServerConversation {
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

    /// Answers what it can be answered with, and has a limit: who does not stop is sent away.
    private mutating func refuse(_ frame: SignalingFrame) {
        guard let envelope = try? frame.request(), (1...64).contains(envelope.requestID.utf8.count) else {
            countMalformed()
            return
        }
        if let request = try? SignalingRequest(type: envelope.type, payload: envelope.payload) {
            // Requests that wait for their answers are bounded, and so are these.
            send(request.response(.rateLimited).message, wireID: envelope.requestID)
            countExcess()
        } else {
            sendError("too often", wireID: envelope.requestID)
            countMalformed()
        }
    }

    private mutating func receivePing(_ envelope: MQRequest) {
        if envelope.payload.count <= Self.maximumPingSize, let ping = try? MQPingPong(serializedBytes: envelope.payload)
        {
            send(ping, wireID: envelope.requestID)
        } else {
            sendError("malformed payload", wireID: envelope.requestID)
            countMalformed()
        }
    }

    private mutating func receive(_ request: SignalingRequest, wireID: String, at now: Instant) {
        if outstanding.contains(where: { $0.wireID == wireID }) {
            sendError("request id in use", wireID: wireID)
        } else if outstanding.count == Self.maximumOutstanding {
            send(request.response(.rateLimited).message, wireID: wireID)
        } else {
            admit(request, wireID: wireID, at: now)
        }
    }

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
                id: id, wireID: wireID, request: request, deadline: now + Self.requestTimeout, isHeld: isHeld))
        if !isHeld { outputs.append(.request(id, request)) }
    }

    private mutating func countExcess() {
        excessCount += 1
        if excessCount >= Self.maximumExcess { close(.malformed) }
    }

    private mutating func countMalformed() {
        malformedCount += 1
        if malformedCount >= Self.maximumMalformed { close(.malformed) }
    }
}

// MARK: - To the client

extension ServerConversation {
    private mutating func respond(to id: SignalingRequestID, _ response: SignalingResponse, at now: Instant) {
        guard let index = outstanding.firstIndex(where: { $0.id == id }) else { return }
        let answered = outstanding.remove(at: index)
        if outstanding.isEmpty { outstanding = [] }
        precondition(answered.request.responseTypeName == response.typeName, "the answer is to another question")
        send(response.message, wireID: answered.wireID)
        switch response {
        case .authenticate: finishAuthentication(isAccepted: response.status == .ok, at: now)
        case .bye: close(.bye)
        default: break
        }
    }

    /// What waited for the session is handed out, or refused.
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

    private mutating func sendError(_ reason: String, wireID: String) {
        send(MQError.with { $0.reason = reason }, wireID: wireID)
    }

    private mutating func send(_ message: any Message, wireID: String, as kind: MQResponse.MessageType = .response) {
        let envelope = MQResponse.with {
            $0.messageType = kind
            $0.requestID = wireID
            $0.type = type(of: message).protoMessageName
            $0.payload = Data(serializing: message)
        }
        outputs.append(.send(SignalingFrame(envelope, form: form)))
    }

    private mutating func close(_ end: ConversationEnd) {
        isClosed = true
        outstanding = []
        outputs.append(.close(end))
    }
}
