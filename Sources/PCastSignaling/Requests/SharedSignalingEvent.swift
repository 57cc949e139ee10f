import Synchronization

/// A notification for many clients, which is encoded once for each form of message and not for each client.
package final class SharedSignalingEvent: Sendable {
    /// The notification.
    package let event: SignalingEvent

    private struct Frames {
        var text: SignalingFrame?
        var binary: SignalingFrame?
    }

    private let frames = Mutex(Frames())

    /// Creates a notification that is not encoded yet.
    package init(_ event: SignalingEvent) { self.event = event }

    /// Returns the message of the WebSocket in a form.
    func frame(_ form: SignalingFrame.Form) -> SignalingFrame {
        frames.withLock { frames in
            switch form {
            case .text:
                let frame = frames.text ?? SignalingFrame(event, form: form)
                frames.text = frame
                return frame
            case .binary:
                let frame = frames.binary ?? SignalingFrame(event, form: form)
                frames.binary = frame
                return frame
            }
        }
    }
}

extension SignalingFrame {
    /// Creates the message with a notification.
    init(_ event: SignalingEvent, form: Form) {
        self.init(MQResponse(event.message, requestID: "", as: .event), form: form)
    }
}
