/// Descriptions of Janus 1.1.2.
extension SDPSamples {
    static let janusStreamingOffer = """
        v=0
        o=- 1795219925610809 1 IN IP4 127.0.0.1
        s=Mountpoint 1
        t=0 0
        a=group:BUNDLE v a
        a=ice-options:trickle
        a=fingerprint:sha-256 93:1D:3C:DF:C5:01:AD:5D:51:33:4B:BF:F7:2E:DE:A7:3E:30:3F:EE:20:56:8C:3F:F9:50:DD:A\
        F:29:11:39:28
        a=extmap-allow-mixed
        a=msid-semantic: WMS *
        m=video 9 UDP/TLS/RTP/SAVPF 96 97
        c=IN IP4 127.0.0.1
        a=sendonly
        a=mid:v
        a=rtcp-mux
        a=ice-ufrag:zccR
        a=ice-pwd:WYszD97tepPBa8oKfXmSD/
        a=ice-options:trickle
        a=setup:actpass
        a=rtpmap:96 H264/90000
        a=rtcp-fb:96 ccm fir
        a=rtcp-fb:96 nack
        a=rtcp-fb:96 nack pli
        a=rtcp-fb:96 goog-remb
        a=rtcp-fb:96 transport-cc
        a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid
        a=fmtp:96 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f
        a=rtpmap:97 rtx/90000
        a=fmtp:97 apt=96
        a=ssrc-group:FID 1875482423 2655460730
        a=msid:janus janusv
        a=ssrc:1875482423 cname:janus
        a=ssrc:2655460730 cname:janus
        a=candidate:1 1 udp 2015363327 127.0.1.1 27009 typ host
        a=end-of-candidates
        m=audio 9 UDP/TLS/RTP/SAVPF 111
        c=IN IP4 127.0.0.1
        a=sendonly
        a=mid:a
        a=rtcp-mux
        a=ice-ufrag:zccR
        a=ice-pwd:WYszD97tepPBa8oKfXmSD/
        a=ice-options:trickle
        a=setup:actpass
        a=rtpmap:111 opus/48000/2
        a=rtcp-fb:111 transport-cc
        a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid
        a=msid:janus janusa
        a=ssrc:1281353472 cname:janus
        a=candidate:1 1 udp 2015363327 127.0.1.1 27009 typ host
        a=end-of-candidates
        """
}
