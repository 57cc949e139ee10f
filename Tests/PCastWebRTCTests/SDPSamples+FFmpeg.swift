/// Descriptions of FFmpeg 9.0.2, or of aiortc 1.16 in answer to it.
extension SDPSamples {
    static let ffmpegPublisherAnswer = """
        v=0
        o=- 4004208718 4004208718 IN IP4 0.0.0.0
        s=-
        t=0 0
        a=group:BUNDLE 0 1
        a=msid-semantic:WMS *
        m=audio 52473 UDP/TLS/RTP/SAVPF 111
        c=IN IP4 127.0.1.1
        a=recvonly
        a=mid:0
        a=msid:a4a28276-fd85-492d-b02d-7251c6281821 07f1d8e8-f8c4-4c76-a7d4-417be3517871
        a=rtcp:9 IN IP4 0.0.0.0
        a=rtcp-mux
        a=ssrc:3178280973 cname:081cadc1-5e79-48ef-b954-77b6f68c81ff
        a=rtpmap:111 opus/48000/2
        a=candidate:460512174798bdf4e13bf874ed3b2456 1 udp 2130706431 127.0.1.1 52473 typ host
        a=end-of-candidates
        a=ice-ufrag:bdkZ
        a=ice-pwd:8L6ZXoH3Bpf93lEbEhpPRu
        a=fingerprint:sha-256 15:E5:1E:5B:BE:4F:07:C2:93:16:06:99:A6:D4:52:54:3C:10:0D:8C:34:3E:E4:72:3E:F1:1F:1\
        0:D8:D6:DD:CA
        a=fingerprint:sha-384 9A:A1:C4:5B:71:41:9C:5E:A7:08:46:07:43:8C:CE:FE:42:34:2F:18:13:F5:3A:6C:BC:32:19:E\
        9:CD:A6:EA:E3:D6:76:49:8C:38:7C:1D:B8:39:62:C3:3B:A0:3B:AE:4C
        a=fingerprint:sha-512 B6:3F:0E:94:76:0B:5B:16:11:D0:25:EF:41:41:F2:7D:88:6B:A4:DC:1C:7D:17:72:95:E0:9A:B\
        8:25:B7:47:9A:3D:EA:37:81:3A:53:4D:A0:2D:5D:4A:70:68:1B:53:C1:4E:7A:B2:F5:D7:5B:9B:A4:C6:64:4D:BA:05:0A:\
        D5:AD
        a=setup:active
        m=video 52473 UDP/TLS/RTP/SAVPF 106 105
        c=IN IP4 127.0.1.1
        a=recvonly
        a=mid:1
        a=msid:a4a28276-fd85-492d-b02d-7251c6281821 9effcb4e-d782-44c5-80e6-e12202847033
        a=rtcp:9 IN IP4 0.0.0.0
        a=rtcp-mux
        a=ssrc-group:FID 1421825538 2739637350
        a=ssrc:1421825538 cname:081cadc1-5e79-48ef-b954-77b6f68c81ff
        a=ssrc:2739637350 cname:081cadc1-5e79-48ef-b954-77b6f68c81ff
        a=rtpmap:106 H264/90000
        a=rtcp-fb:106 nack
        a=fmtp:106 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f
        a=rtpmap:105 rtx/90000
        a=fmtp:105 apt=106
        a=candidate:460512174798bdf4e13bf874ed3b2456 1 udp 2130706431 127.0.1.1 52473 typ host
        a=end-of-candidates
        a=ice-ufrag:bdkZ
        a=ice-pwd:8L6ZXoH3Bpf93lEbEhpPRu
        a=fingerprint:sha-256 15:E5:1E:5B:BE:4F:07:C2:93:16:06:99:A6:D4:52:54:3C:10:0D:8C:34:3E:E4:72:3E:F1:1F:1\
        0:D8:D6:DD:CA
        a=fingerprint:sha-384 9A:A1:C4:5B:71:41:9C:5E:A7:08:46:07:43:8C:CE:FE:42:34:2F:18:13:F5:3A:6C:BC:32:19:E\
        9:CD:A6:EA:E3:D6:76:49:8C:38:7C:1D:B8:39:62:C3:3B:A0:3B:AE:4C
        a=fingerprint:sha-512 B6:3F:0E:94:76:0B:5B:16:11:D0:25:EF:41:41:F2:7D:88:6B:A4:DC:1C:7D:17:72:95:E0:9A:B\
        8:25:B7:47:9A:3D:EA:37:81:3A:53:4D:A0:2D:5D:4A:70:68:1B:53:C1:4E:7A:B2:F5:D7:5B:9B:A4:C6:64:4D:BA:05:0A:\
        D5:AD
        a=setup:active
        """

    static let ffmpegPublisherOffer = """
        v=0
        o=FFmpeg 4489045141692799359 2 IN IP4 127.0.0.1
        s=FFmpegPublishSession
        t=0 0
        a=group:BUNDLE 0 1
        a=extmap-allow-mixed
        a=msid-semantic: WMS
        m=audio 9 UDP/TLS/RTP/SAVPF 111
        c=IN IP4 0.0.0.0
        a=ice-ufrag:0a4c0e4d
        a=ice-pwd:f65990caa4ec886ae4be5ec787ee0002
        a=fingerprint:sha-256 30:F6:08:D6:4A:B1:27:DF:2C:3D:5E:BF:9B:1B:80:8E:D5:DC:76:B5:72:1C:55:E7:06:AE:B7:8\
        7:12:18:9D:EB
        a=setup:passive
        a=mid:0
        a=sendonly
        a=msid:FFmpeg audio
        a=rtcp-mux
        a=rtpmap:111 opus/48000/2
        a=ssrc:3989638463 cname:FFmpeg
        a=ssrc:3989638463 msid:FFmpeg audio
        m=video 9 UDP/TLS/RTP/SAVPF 106 105
        c=IN IP4 0.0.0.0
        a=ice-ufrag:0a4c0e4d
        a=ice-pwd:f65990caa4ec886ae4be5ec787ee0002
        a=fingerprint:sha-256 30:F6:08:D6:4A:B1:27:DF:2C:3D:5E:BF:9B:1B:80:8E:D5:DC:76:B5:72:1C:55:E7:06:AE:B7:8\
        7:12:18:9D:EB
        a=setup:passive
        a=mid:1
        a=sendonly
        a=msid:FFmpeg video
        a=rtcp-mux
        a=rtcp-rsize
        a=rtpmap:106 H264/90000
        a=fmtp:106 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001e
        a=rtcp-fb:106 nack
        a=rtpmap:105 rtx/90000
        a=fmtp:105 apt=106
        a=ssrc-group:FID 3989638464 3989638465
        a=ssrc:3989638464 cname:FFmpeg
        a=ssrc:3989638464 msid:FFmpeg video
        """
}

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
