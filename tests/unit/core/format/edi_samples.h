/* edi_samples.h - messages that several tests read. */
#pragma once

#define HL7_MESSAGE                                                            \
    "MSH|^~\\&|LAB|WEST^1.2^ISO|HIS|EAST|20261115||ORU^R01^ORU_R01|77|P|2.5\r" \
    "PID|1||4711^^^MR~99^^^SS||Doe \\T\\ Sons^Jane^A&B||19700101|F\r"          \
    "OBR|1|a\rOBX|1|NM|x^y||1.10\rOBX|2|ST|z||a\\.br\\b\r"                     \
    "OBR|2|b\rOBX|1|NM|w||2\r"

/* ISA with the control number, and its separators: element *, component >, end ~. */
#define X12_ISA(number, sender)                                                                    \
    "ISA*00*          *00*          *ZZ*" sender "*ZZ*RECEIVER       *261115*1200*^*00501*" number \
    "*0*P*>~"
#define X12_ACME "ACME           "
#define X12_INTERCHANGE                                                         \
    X12_ISA("000000001", X12_ACME)                                              \
    "\nGS*PO*A*B*20261115*1200*7*X*005010~\nST*850*0001~\nN1*ST*Big > Store~\n" \
    "EB*1*IND*30^60~\nSE*4*0001~\nST*860*0002~\nBCH*04~\nSE*3*0002~\nGE*2*7~\nIEA*1*000000001~\n"

#define EDIFACT_INTERCHANGE                                                           \
    "UNA:+.? '\r\nUNB+UNOC:3+5013546025078:14+5030670154036:14+060223:1601+0212'\r\n" \
    "UNH+1+QUOTES:D:96A:UN'\r\nNAD+BY+what?? ?'s it::9'\r\nUNT+3+1'\r\n"              \
    "UNH+2+INVOIC:D:96A:UN'\r\nBGM+380'\r\nUNT+3+2'\r\nUNZ+2+0212'\r\n"
