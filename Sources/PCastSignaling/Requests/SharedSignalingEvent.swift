/// A notification for many clients, which is encoded once for each form of message and not for each client.
package struct SharedSignalingEvent: Sendable {
    /// The notification.
    package let event: SignalingEvent
    private let text: SignalingFrame
    private let binary: SignalingFrame

    /// Encodes a notification.
    package init(_ event: SignalingEvent) {
        self.event = event
        text = SignalingFrame(event, form: .text)
        binary = SignalingFrame(event, form: .binary)
    }

    /// Returns the message of the WebSocket in a form.
    func frame(_ form: SignalingFrame.Form) -> SignalingFrame { form == .text ? text : binary }
}

extension SignalingFrame {
    /// Creates the message with a notification.
    init(_ event: SignalingEvent, form: Form) {
        self.init(MQResponse(event.message, requestID: "", as: .event), form: form)
    }
}
