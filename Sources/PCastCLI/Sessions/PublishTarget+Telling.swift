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
            console.say("Port \(ListenArgument.standard.port) is taken by another program; a free one is used.")
        }
    }

    /// Reports that a stream is published, with the link to view it.
    func tell(_ publisher: Publisher, on console: Console) {
        let stream = publisher.streamID.description
        let watch: String
        do {
            watch = try watchLink(stream: stream)
        } catch {
            console.say("Publishing, and no link can be made: \(error).")
            return
        }
        console.event("publishing", ["streamId": .string(stream), "watch": .string(watch)])
        console.say("Publishing. Watch at \(watch)")
        if viewers != nil {
            console.say("Whoever has this link can see the picture, for 24 hours at most; hand it on with care.")
        } else if running != nil {
            console.say("Only people on this computer can see the picture; “pcast subscribe” shows it to you too.")
        }
        if !console.isLive { console.say("Ctrl-C ends it.") }
    }
}
