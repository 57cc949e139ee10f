import PCastCore
import PCastIO
import PCastWebRTC

/// Offers as the project's clients create them.
enum Offers {
    private static let certificate = Result { try DTLSCertificate.generate(at: MonotonicClock.wallTime()) }

    static func publisher(video: Codec = .h264, layers: Int = 1) throws -> String {
        try text(.publish(video: video, audio: true, layers: layers))
    }

    static func viewer() throws -> String { try text(.view(video: true, audio: true)) }

    private static func text(_ purpose: PeerConnection.Purpose) throws -> String {
        var generator = SystemRandomNumberGenerator()
        let configuration = PeerConnection.Configuration(
            certificate: try certificate.get(), addresses: [], clock: MonotonicClock.reference(), cname: "test")
        let connection = PeerConnection(purpose, configuration: configuration, using: &generator)
        return connection.offer.text
    }

    /// Returns an offer without a supported codec.
    static func foreignCodecs() throws -> String {
        try viewer()
            .replacing("H264/90000", with: "H265/90000").replacing("VP8/90000", with: "AV1/90000")
            .replacing("opus/48000/2", with: "L16/48000/2")
    }
}
