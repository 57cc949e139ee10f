// Descriptions in the form of browsers, with each supported attribute at least once.
extension SDPTarget {
    private static let session = """
        v=0
        o=- 4611731400430051336 2 IN IP4 127.0.0.1
        s=-
        t=0 0
        a=group:BUNDLE 0 1
        a=extmap-allow-mixed
        a=msid-semantic: WMS stream

        """

    private static let transport = """
        c=IN IP4 0.0.0.0
        a=rtcp:9 IN IP4 0.0.0.0
        a=candidate:1467250027 1 udp 2122260223 192.168.0.196 46243 typ host generation 0
        a=candidate:1853887674 1 udp 1518280447 47.61.61.61 36768 typ srflx raddr 192.168.0.196 rport 36768
        a=candidate:3 1 tcp 1518214911 192.168.0.196 9 typ host tcptype active
        a=ice-ufrag:EsAw
        a=ice-pwd:bP+XJMM09aR8AiX1jdukzR6Y
        a=ice-options:trickle
        a=fingerprint:sha-256 DA:7B:57:DC:28:CE:04:4F:31:79:85:C4:31:67:EB:27:58:29:ED:77:2A:0D:24:AE:ED:AD:30:BC:\
        BD:F1:9C:02
        a=setup:actpass

        """

    private static let audio = """
        a=mid:0
        a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level
        a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid
        a=sendrecv
        a=msid:stream audio-track
        a=rtcp-mux
        a=rtcp-rsize
        a=rtpmap:111 opus/48000/2
        a=rtcp-fb:111 transport-cc
        a=fmtp:111 minptime=10;useinbandfec=1
        a=rtpmap:0 PCMU/8000
        a=ssrc:3570614608 cname:4TOk42mSjXCkVIa6
        a=ssrc:3570614608 msid:stream audio-track

        """

    private static let video = """
        a=mid:1
        a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:10/sendonly urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id
        a=extmap:11 urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id
        a=rtcp-mux
        a=rtpmap:96 VP8/90000
        a=rtcp-fb:96 goog-remb
        a=rtcp-fb:96 ccm fir
        a=rtcp-fb:96 nack
        a=rtcp-fb:96 nack pli
        a=rtcp-fb:* transport-cc
        a=rtpmap:97 rtx/90000
        a=fmtp:97 apt=96
        a=rtpmap:102 H264/90000
        a=fmtp:102 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f
        a=rtpmap:103 rtx/90000
        a=fmtp:103 apt=102

        """

    private static let audioSection = "m=audio 9 UDP/TLS/RTP/SAVPF 111 0\n" + transport + audio
    private static let videoSection = "m=video 9 UDP/TLS/RTP/SAVPF 96 97 102 103\n" + transport + video

    static let browserOffer =
        session + audioSection + videoSection
            + """
            a=sendrecv
            a=msid:stream video-track
            a=ssrc-group:FID 2231627014 632943048
            a=ssrc:2231627014 cname:4TOk42mSjXCkVIa6
            a=ssrc:632943048 cname:4TOk42mSjXCkVIa6
            m=application 9 UDP/DTLS/SCTP webrtc-datachannel
            c=IN IP4 0.0.0.0
            a=mid:2
            a=sctp-port:5000

            """

    static let simulcastOffer =
        session + audioSection + videoSection
            + """
            a=sendonly
            a=rid:hi send max-width=1280;max-fps=30
            a=rid:lo send pt=96
            a=simulcast:send hi;~lo,hi

            """

    static let trickleAnswer =
        session
        + audioSection.replacing("actpass", with: "active").replacing("sendrecv", with: "sendonly")
        + videoSection.replacing("actpass", with: "active") + "a=sendonly\na=end-of-candidates\n"
}
