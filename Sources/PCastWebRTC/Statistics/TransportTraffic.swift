/// The number of datagrams of all kinds and their bytes.
struct TransportTraffic: Sendable {
    var packetsSent = 0
    var bytesSent = 0
    var packetsReceived = 0
    var bytesReceived = 0
}
