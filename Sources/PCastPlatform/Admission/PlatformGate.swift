import PCastCore
import PCastIO
import PCastWeb

/// A gate that rejects connections if there are too many, or too many per second.
struct PlatformGate: ConnectionGate {
    let admission: Admission

    func admits(_ address: IPAddress?) -> Bool {
        admission.admitConnection(from: address, at: MonotonicClock.now())
    }

    func closed(_ address: IPAddress?) { admission.connectionClosed(from: address) }
}
