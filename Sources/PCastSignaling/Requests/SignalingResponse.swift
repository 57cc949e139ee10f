import FoundationEssentials
package import PCastCore
import SwiftProtobuf

/// The platform's response to a ``SignalingRequest`` of the same name.
package enum SignalingResponse: Hashable, Sendable {
    /// The response to `authenticate`.
    case authenticate(PCastAuthenticateResponse)
    /// The response to `bye`.
    case bye(PCastByeResponse)
    /// The response to `setupStream`.
    case setupStream(PCastSetupStreamResponse)
    /// The response to `setupPlaylistStream`.
    case setupPlaylistStream(PCastSetupPlaylistStreamResponse)
    /// The response to `setLocalDescription`.
    case setLocalDescription(PCastSetLocalDescriptionResponse)
    /// The response to `setRemoteDescription`.
    case setRemoteDescription(PCastSetRemoteDescriptionResponse)
    /// The response to `createOfferDescription`.
    case createOfferDescription(PCastCreateOfferDescriptionResponse)
    /// The response to `createAnswerDescription`.
    case createAnswerDescription(PCastCreateAnswerDescriptionResponse)
    /// The response to `addIceCandidates`.
    case addIceCandidates(PCastAddIceCandidatesResponse)
    /// The response to `updateStreamState`.
    case updateStreamState(PCastUpdateStreamStateResponse)
    /// The response to `destroyStream`.
    case destroyStream(PCastDestroyStreamResponse)
    /// The response to `sendCaptions`.
    case sendCaptions(PCastSendCaptionsResponse)
    /// The response to `joinRoom`.
    case joinRoom(ChatJoinRoomResponse)
    /// The response to `updateMember`.
    case updateMember(ChatUpdateMemberResponse)
    /// The response to `leaveRoom`.
    case leaveRoom(ChatLeaveRoomResponse)
    /// The response to `createRoom`.
    case createRoom(ChatCreateRoomResponse)
    /// The response to `getRoomInfo`.
    case getRoomInfo(ChatGetRoomInfoResponse)
    /// The response to `updateRoom`.
    case updateRoom(ChatUpdateRoomResponse)
    /// The response to `sendMessageToRoom`.
    case sendMessageToRoom(ChatSendMessageToRoomResponse)
    /// The response to `fetchRoomConversation`.
    case fetchRoomConversation(ChatFetchRoomConversationResponse)
}

extension SignalingResponse {
    /// The full name of the message, which is the `type` of the envelope.
    package var typeName: String { type(of: message).protoMessageName }

    /// The result of the request.
    package var status: RequestStatus { RequestStatus(wire: statusText) }

    /// The result in the form of the protocol.
    package var statusText: String {
        switch self {
        case .authenticate(let message): message.status
        case .bye(let message): message.status
        case .setupStream(let message): message.status
        case .setupPlaylistStream(let message): message.status
        case .setLocalDescription(let message): message.status
        case .setRemoteDescription(let message): message.status
        case .createOfferDescription(let message): message.status
        case .createAnswerDescription(let message): message.status
        case .addIceCandidates(let message): message.status
        case .updateStreamState(let message): message.status
        case .destroyStream(let message): message.status
        case .sendCaptions(let message): message.status
        case .joinRoom(let message): message.status
        case .updateMember(let message): message.status
        case .leaveRoom(let message): message.status
        case .createRoom(let message): message.status
        case .getRoomInfo(let message): message.status
        case .updateRoom(let message): message.status
        case .sendMessageToRoom(let message): message.status
        case .fetchRoomConversation(let message): message.status
        }
    }

    /// The message of the protocol.
    var message: any Message {
        switch self {
        case .authenticate(let message): message
        case .bye(let message): message
        case .setupStream(let message): message
        case .setupPlaylistStream(let message): message
        case .setLocalDescription(let message): message
        case .setRemoteDescription(let message): message
        case .createOfferDescription(let message): message
        case .createAnswerDescription(let message): message
        case .addIceCandidates(let message): message
        case .updateStreamState(let message): message
        case .destroyStream(let message): message
        case .sendCaptions(let message): message
        case .joinRoom(let message): message
        case .updateMember(let message): message
        case .leaveRoom(let message): message
        case .createRoom(let message): message
        case .getRoomInfo(let message): message
        case .updateRoom(let message): message
        case .sendMessageToRoom(let message): message
        case .fetchRoomConversation(let message): message
        }
    }

    /// Parses the payload of an envelope; nil for a type that is not a response. Throws an error for a malformed
    /// payload.
    init?(type: String, payload: Data) throws {
        switch type {
        case PCastAuthenticateResponse.protoMessageName:
            self = .authenticate(try PCastAuthenticateResponse(serializedBytes: payload))
        case PCastByeResponse.protoMessageName:
            self = .bye(try PCastByeResponse(serializedBytes: payload))
        case PCastSetupStreamResponse.protoMessageName:
            self = .setupStream(try PCastSetupStreamResponse(serializedBytes: payload))
        case PCastSetupPlaylistStreamResponse.protoMessageName:
            self = .setupPlaylistStream(try PCastSetupPlaylistStreamResponse(serializedBytes: payload))
        case PCastSetLocalDescriptionResponse.protoMessageName:
            self = .setLocalDescription(try PCastSetLocalDescriptionResponse(serializedBytes: payload))
        case PCastSetRemoteDescriptionResponse.protoMessageName:
            self = .setRemoteDescription(try PCastSetRemoteDescriptionResponse(serializedBytes: payload))
        case PCastCreateOfferDescriptionResponse.protoMessageName:
            self = .createOfferDescription(try PCastCreateOfferDescriptionResponse(serializedBytes: payload))
        case PCastCreateAnswerDescriptionResponse.protoMessageName:
            self = .createAnswerDescription(try PCastCreateAnswerDescriptionResponse(serializedBytes: payload))
        case PCastAddIceCandidatesResponse.protoMessageName:
            self = .addIceCandidates(try PCastAddIceCandidatesResponse(serializedBytes: payload))
        case PCastUpdateStreamStateResponse.protoMessageName:
            self = .updateStreamState(try PCastUpdateStreamStateResponse(serializedBytes: payload))
        case PCastDestroyStreamResponse.protoMessageName:
            self = .destroyStream(try PCastDestroyStreamResponse(serializedBytes: payload))
        case PCastSendCaptionsResponse.protoMessageName:
            self = .sendCaptions(try PCastSendCaptionsResponse(serializedBytes: payload))
        case ChatJoinRoomResponse.protoMessageName:
            self = .joinRoom(try ChatJoinRoomResponse(serializedBytes: payload))
        case ChatUpdateMemberResponse.protoMessageName:
            self = .updateMember(try ChatUpdateMemberResponse(serializedBytes: payload))
        case ChatLeaveRoomResponse.protoMessageName:
            self = .leaveRoom(try ChatLeaveRoomResponse(serializedBytes: payload))
        case ChatCreateRoomResponse.protoMessageName:
            self = .createRoom(try ChatCreateRoomResponse(serializedBytes: payload))
        case ChatGetRoomInfoResponse.protoMessageName:
            self = .getRoomInfo(try ChatGetRoomInfoResponse(serializedBytes: payload))
        case ChatUpdateRoomResponse.protoMessageName:
            self = .updateRoom(try ChatUpdateRoomResponse(serializedBytes: payload))
        case ChatSendMessageToRoomResponse.protoMessageName:
            self = .sendMessageToRoom(try ChatSendMessageToRoomResponse(serializedBytes: payload))
        case ChatFetchRoomConversationResponse.protoMessageName:
            self = .fetchRoomConversation(try ChatFetchRoomConversationResponse(serializedBytes: payload))
        default: return nil
        }
    }
}

extension RequestStatus {
    /// The status in a response of the protocol.
    package var wire: String {
        switch self {
        case .ok: "ok"
        case .noStreamPlaying: "no-stream-playing"
        case .badRequest: "bad-request"
        case .unauthorized: "unauthorized"
        case .conflict: "conflict"
        case .gone: "gone"
        case .notInitialized: "not-initialized"
        case .notStarted: "not-started"
        case .rateLimited: "rate-limited"
        case .upgradeRequired: "upgrade-required"
        case .failed: "failed"
        case .capacity: "capacity"
        case .timeout: "timeout"
        case .notReady: "not-ready"
        }
    }

    /// Parses the status of a response. An unknown status becomes ``failed``.
    package init(wire text: String) {
        switch text {
        case "origin-stream-not-found", "origin-not-found", "origin-stream-ended", "origin-ended",
            "streaming-not-available":
            self = .noStreamPlaying
        case "streaming-not-ready": self = .notReady
        case "unsupported-features", "no-supported-features", "conflicting-options": self = .badRequest
        case "not-found": self = .gone
        case "already-exists": self = .conflict
        case "bad-token": self = .unauthorized
        default: self = Self.allCases.first { $0.wire == text } ?? .failed
        }
    }
}

// The prefix of the response's option that contains the reason of a refusal.
private let reasonPrefix = "refused-because="
// The maximum length of a reason in characters.
private let longestReason = 400

extension PCastSetRemoteDescriptionResponse {
    /// Creates a response that refuses the request. `status` is the status of the protocol, and `reason` is a text for
    /// people.
    package init(refusal status: String, because reason: String) {
        self.init()
        self.status = status
        options = ["\(reasonPrefix)\(reason.prefix(longestReason))"]
    }
}

extension PCastSendCaptionsResponse {
    /// Creates a response without a reason.
    package init(status: RequestStatus) {
        self.init()
        self.status = status.wire
    }

    /// Creates a response that refuses the request. `status` is the status of the protocol, and `reason` is a text for
    /// people.
    package init(refusal status: String, because reason: String) {
        self.init()
        self.status = status
        options = ["\(reasonPrefix)\(reason.prefix(longestReason))"]
    }

    /// The platform's reason for the refusal as a text for people; nil if there is none.
    package var refusalReason: String? { reason(in: options) }
}

extension PCastSetupStreamResponse {

    /// Creates a response that refuses the request. `status` is the status of the protocol, and `reason` is a text for
    /// people. The message has no field for a reason, so it is an option, which other clients ignore.
    package init(refusal status: String, because reason: String) {
        self.init()
        self.status = status
        createStreamResponse.status = status
        createStreamResponse.options = ["\(reasonPrefix)\(reason.prefix(longestReason))"]
    }

    /// The platform's reason for the refusal as a text for people; nil if there is none.
    package var refusalReason: String? { reason(in: createStreamResponse.options) }
}

/// Returns the reason of a refusal in the options of a response; nil if there is none.
private func reason(in options: [String]) -> String? {
    options.first { $0.hasPrefix(reasonPrefix) }
        .map { String($0.dropFirst(reasonPrefix.count).prefix(longestReason)) }
}

/// The reason for which a request has no usable response.
package enum SignalingFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// No response arrived within ``ClientSignalingMachine/requestTimeout``.
    case timeout
    /// The connection was lost, or there was none.
    case disconnected
    /// There are already ``ClientSignalingMachine/maximumOutstanding`` outstanding requests.
    case tooManyOutstanding
    /// The platform responded with `mq.Error` and this reason.
    case refused(reason: String)
    /// The response does not match the request, or is malformed.
    case malformedResponse

    /// The reason in words, without the request.
    package var description: String {
        switch self {
        case .timeout: "no response arrived within \(Int(ClientSignalingMachine.requestTimeout.seconds)) seconds"
        case .disconnected: "the connection was lost"
        case .tooManyOutstanding: "too many requests are waiting for a response"
        case .refused(let reason): "the platform rejected the request: \(reason)"
        case .malformedResponse: "the response is malformed"
        }
    }

    /// The status for the application.
    package var status: RequestStatus {
        switch self {
        case .timeout: .timeout
        case .tooManyOutstanding: .rateLimited
        case .disconnected, .refused, .malformedResponse: .failed
        }
    }
}
