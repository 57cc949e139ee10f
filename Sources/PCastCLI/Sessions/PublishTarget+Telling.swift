import PCast
import PCastJSON
import PCastPlatform

/// Reports about the platform for users and programs.
extension PublishTarget {
    /// Reports the address of an embedded platform, if there is one. `isAsked` is whether the user chose the address.
    func announce(on console: Console, isAsked: Bool) {
        guard let listening = running?.listening else { return }
        console.event("listening", ["uri": .string(listening.uri), "rtcPort": .count(listening.rtcPort)])
        if !isAsked, !listening.uri.hasSuffix(":\(ListenArgument.standard.port)") {
            console.say("Port \(ListenArgument.standard.port) is in use by another program. Using a free port.")
        }
    }

    /// Reports that a stream is published, with the link to view it.
    func notify(_ publisher: Publisher, on console: Console) {
        let stream = publisher.streamID.description
        let watch: String
        do {
            watch = try watchLink(stream: stream)
        } catch {
            console.warn("Publishing. The link to watch cannot be created: \(error).")
            return
        }
        console.event("publishing", ["streamId": .string(stream), "watch": .string(watch)])
        console.say("Publishing. Watch at \(watch)")
        if viewers != nil {
            console.say("Anybody with this link can watch the stream for up to 24 hours, so share it with care.")
        } else if running != nil {
            console.say("The stream is available on this host only. “pcast subscribe” subscribes to it.")
        }
        if !console.isLive { console.say("Press Ctrl-C to stop.") }
    }
}
