import PCastIO
import PCastMedia
import PCastWeb

/// Turns connections away, by their number and by how often they come.
struct PlatformGate: ConnectionGate {
    let admission: Admission

    func admits(_ address: IPAddress?) -> Bool {
        admission.admitConnection(from: address, at: MonotonicClock.now())
    }

    func closed(_ address: IPAddress?) { admission.connectionClosed(from: address) }
}
